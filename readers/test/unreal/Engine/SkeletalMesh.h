// Nothing: the stand-ins are in Components/SkeletalMeshComponent.h.
#pragma once
