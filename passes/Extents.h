#pragma once

/// What rules ask of shapes that are computed.
#include "ir/rewrite/Extents.h"
