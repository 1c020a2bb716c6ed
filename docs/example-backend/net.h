/* What a generated network offers: bytes to fill in, a function, and bytes to read. */
#ifdef __cplusplus
extern "C" {
#endif

struct net_tensor {
  void *data;
  unsigned long bytes;
};
extern const struct net_tensor net_inputs[], net_outputs[];
extern const int net_input_count, net_output_count;
void net_run(void);

/* Of a network that was compiled with -DNET_PROFILE: what each kernel took of its thread's time, without what
   reading the clock takes. */
struct net_time {
  unsigned long long count, ns;
};
extern struct net_time net_times[];
extern const int net_kernel_count;

#ifdef __cplusplus
}
#endif
