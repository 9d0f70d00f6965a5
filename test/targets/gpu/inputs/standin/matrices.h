/* Instructions of a warp on matrices, as the PTX ISA defines them ("Warp-level matrix instructions"). Part of standin_driver.c. */

enum { LDMATRIX, MMA };
static long conflicts, instructions[2];
API void standin_ldmatrix(int64_t row, int count, int transposed, int64_t to) {
  if (running % 32 < 8 * count) trace_access((char *)row, 16, READS);
  threads[running].matrix = (struct matrix){LDMATRIX, count, transposed, (char *)row, (char *)to, 0};
  leave(AT_MATRIX);
}
API void standin_mma(int type, int64_t a, int64_t b, int64_t c) { /* m16n8k16 of f16 or bf16; 2: m16n8k8 of tf32; m16n8k32 of 3, 4: e4m3, e5m2; 5 to 8: bytes, of which in type - 5 bit 0 and 1 are set for unsigned ones on the left and right */
  threads[running].matrix = (struct matrix){MMA, type, 0, (char *)a, (char *)b, (char *)c};
  leave(AT_MATRIX);
}
API long standin_conflicts(void) { return conflicts; } /* rows of matrices that waited for others of the same matrix, in their bank */
API long standin_instructions(int op) { return instructions[op]; }

enum { BYTES = 5 };
static int as_byte(const char *at, int is_unsigned) { return is_unsigned ? *(const unsigned char *)at : *(const signed char *)at; }
static float as_float(const char *at, int type) {
  if (type == 3) { /* e4m3: the exponent's bias is 7; of the highest exponent only the last number is NaN */
    int code = *at & 0x7f, exponent = code >> 3;
    double value = code == 0x7f ? __builtin_nan("") : __builtin_ldexp((exponent ? 8 : 0) + code % 8, (exponent ? exponent : 1) - 10);
    return (float)(*at & 0x80 ? -value : value);
  }
  uint16_t bits;
  if (type == 4) { /* e5m2: the upper byte of an f16 */
    char half[2] = {0, *at};
    return as_float(half, 0);
  }
  memcpy(&bits, at, 2);
  if (type == 1) {
    uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, 4);
    return value;
  }
  _Float16 half;
  memcpy(&half, &bits, 2);
  return (float)half;
}
static float factor_at(const char *at, int type, int side) {
  return type < BYTES ? as_float(at, type) : (float)as_byte(at, (type - BYTES) >> side & 1);
}
static float as_tf32(const char *at) { /* the lower 13 bits are not looked at */
  uint32_t bits;
  memcpy(&bits, at, 4);
  bits &= ~0x1fffu;
  float value;
  memcpy(&value, &bits, 4);
  return value;
}
static int load_matrices(const struct thread *lanes) { /* 8 rows of 8 elements of 16 bits each; lanes 8i to 8i + 7 name those of matrix i */
  for (int i = 0; i < lanes->matrix.kind; i++) {
    int banks = 0;
    for (int row = 0; row < 8; row++) {
      uintptr_t at = (uintptr_t)lanes[8 * i + row].matrix.first;
      if (at % 16) return LAUNCH_FAILED;
      conflicts += banks >> at / 16 % 8 & 1;
      banks |= 1 << at / 16 % 8;
    }
    for (int lane = 0; lane < 32; lane++)
      for (int e = 0; e < 2; e++) {
        int row = lanes->matrix.transposed ? 2 * (lane % 4) + e : lane / 4, column = lanes->matrix.transposed ? lane / 4 : 2 * (lane % 4) + e;
        memcpy(lanes[lane].matrix.second + 4 * i + 2 * e, lanes[8 * i + row].matrix.first + 2 * column, 2);
      }
  }
  return 0;
}
static void add_to(char *at, double value, int type) { /* i32 wraps */
  float real;
  uint32_t bits;
  memcpy(type < BYTES ? (void *)&real : (void *)&bits, at, 4);
  if (type < BYTES) real = (float)(real + value);
  else bits += (uint32_t)(int32_t)value;
  memcpy(at, type < BYTES ? (void *)&real : (void *)&bits, 4);
}
static int multiply(const struct thread *lanes) {
  float a[16][32], b[32][8];
  int type = lanes->matrix.kind, depth = type > 2 ? 32 : type == 2 ? 8 : 16;
  for (int lane = 0; lane < 32; lane++) {
    int group = lane >> 2, in_group = lane % 4;
    if (type == 2) {
      for (int i = 0; i < 4; i++) a[i % 2 ? group + 8 : group][i < 2 ? in_group : in_group + 4] = as_tf32(lanes[lane].matrix.first + 4 * i);
      for (int i = 0; i < 2; i++) b[i ? in_group + 4 : in_group][group] = as_tf32(lanes[lane].matrix.second + 4 * i);
      continue;
    }
    if (type > 2) {
      for (int i = 0; i < 16; i++)
        a[i < 4 || (8 <= i && i < 12) ? group : group + 8][in_group * 4 + (i & 3) + (i < 8 ? 0 : 16)] = factor_at(lanes[lane].matrix.first + i, type, 0);
      for (int i = 0; i < 8; i++) b[in_group * 4 + (i & 3) + (i < 4 ? 0 : 16)][group] = factor_at(lanes[lane].matrix.second + i, type, 1);
      continue;
    }
    for (int i = 0; i < 8; i++)
      a[i < 2 || (4 <= i && i < 6) ? group : group + 8][in_group * 2 + (i & 1) + (i < 4 ? 0 : 8)] = as_float(lanes[lane].matrix.first + 2 * i, type);
    for (int i = 0; i < 4; i++) b[in_group * 2 + (i & 1) + (i < 2 ? 0 : 8)][group] = as_float(lanes[lane].matrix.second + 2 * i, type);
  }
  for (int lane = 0; lane < 32; lane++)
    for (int i = 0; i < 4; i++) {
      int row = (lane >> 2) + (i < 2 ? 0 : 8), column = lane % 4 * 2 + (i & 1);
      char *c = lanes[lane].matrix.third + 4 * i;
      double sum = 0;
      for (int k = 0; k < depth; k++) sum += (double)a[row][k] * b[k][column];
      add_to(c, sum, type);
    }
  return 0;
}
static int on_matrices(const struct thread *lanes, int count) {
  for (int lane = 0; lane < 32; lane++) {
    const struct matrix *one = &lanes[lane].matrix;
    if (count < 32 || one->op != lanes->matrix.op || one->kind != lanes->matrix.kind || one->transposed != lanes->matrix.transposed) return LAUNCH_FAILED;
  }
  instructions[lanes->matrix.op]++;
  return lanes->matrix.op == MMA ? multiply(lanes) : load_matrices(lanes);
}
