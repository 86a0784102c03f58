#include "numeric/bfloat16.h"
