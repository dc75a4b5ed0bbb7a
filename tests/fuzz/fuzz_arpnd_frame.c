/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer's entry point for frames from the wire: whatever they are, they are refused or they
 * parse, and what parses can be built again and parses to the same.
 */
#include "net/arpnd_frame.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define AT_IP6 14
#define AT_ICMP6 54

/* Chance never finds the right sum, and the options lie behind it. */
static void set_checksum(uint8_t *frame, size_t len)
{
	size_t payload;
	uint64_t sum = 58;

	if (len < AT_ICMP6 + 24)
		return;
	payload = (size_t) frame[AT_IP6 + 4] << 8 | frame[AT_IP6 + 5];
	if (payload > len - AT_ICMP6)
		return;
	frame[AT_ICMP6 + 2] = frame[AT_ICMP6 + 3] = 0;
	sum += payload;
	for (size_t i = AT_IP6 + 8; i < AT_ICMP6 + payload; i++)
		sum += (i - AT_IP6) % 2 == 0 ? (uint64_t) frame[i] << 8 : frame[i];
	sum = 65535 - sum % 65535;
	frame[AT_ICMP6 + 2] = (uint8_t) (sum >> 8);
	frame[AT_ICMP6 + 3] = (uint8_t) sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(free) uint8_t *frame = xmemdup(data, size);
	struct arpnd_frame f, again;
	uint8_t buf[ARPND_FRAME_MAX];

	if (size > 13 && frame[12] == 0x86)
		set_checksum(frame, size);
	if (arpnd_frame_parse(frame, size, &f) < 0)
		return 0;
	if (arpnd_frame_parse(buf, arpnd_frame_build(&f, buf), &again) < 0 ||
	    memcmp(&f.target, &again.target, sizeof(f.target)) != 0 ||
	    memcmp(&f.sender, &again.sender, sizeof(f.sender)) != 0 || f.kind != again.kind ||
	    f.has_link != again.has_link || !mac_equal(&f.link, &again.link) ||
	    f.override != again.override || f.solicited != again.solicited)
		abort();
	return 0;
}
