/* SPDX-License-Identifier: Apache-2.0 */
/* NetworkPolicyConfig: how carefully a change is made, and what is nobody's business. */
#include <stdlib.h>
#include <string.h>

#include "base/conf_check.h"
#include "base/mem.h"
#include "base/mono.h"
#include "netconf/config/config_priv.h"

#define PATTERNS_MAX 64

const char *const config_drift_names[] = {
    [CONFIG_DRIFT_REPAIR] = "repair",
    [CONFIG_DRIFT_REPORT] = "report",
    NULL,
};

void config_policy_init(struct config_policy *policy)
{
	*policy = (struct config_policy){
	    .confirm_us = 120 * US_PER_S,
	    .drift = CONFIG_DRIFT_REPAIR,
	    .fight_rewrites = 3,
	    .fight_window_us = 60 * US_PER_S,
	    .adopt = true,
	    .probe_gateways = true,
	    .probe_etcd = true,
	    .probe_api_server = true,
	    .probe_duplicates = true,
	    .probe_timeout_us = 15 * US_PER_S,
	    .state_dir = xstrdup("/var/lib/fairlead/netconf"),
	};
}

#define POLICY(member) offsetof(struct config_policy, member)

static const struct conf_field fight_fields[] = {
    {.key = "rewrites",
     .set = conf_set_unsigned,
     .offset = POLICY(fight_rewrites),
     .min = 1,
     .max = 100},
    {.key = "window",
     .set = conf_set_duration,
     .offset = POLICY(fight_window_us),
     .min = US_PER_S,
     .max = 3600 * US_PER_S},
    {0},
};

static const struct conf_field ownership_fields[] = {
    {.key = "adopt", .set = conf_set_bool, .offset = POLICY(adopt)},
    {.key = "ignoreLinks",
     .set = conf_set_strings,
     .offset = POLICY(ignore_links),
     .min = 0,
     .max = PATTERNS_MAX,
     .check = config_check_ref},
    {0},
};

static const struct conf_field probes_fields[] = {
    {.key = "gateways", .set = conf_set_bool, .offset = POLICY(probe_gateways)},
    {.key = "etcd", .set = conf_set_bool, .offset = POLICY(probe_etcd)},
    {.key = "apiServer", .set = conf_set_bool, .offset = POLICY(probe_api_server)},
    {.key = "duplicates", .set = conf_set_bool, .offset = POLICY(probe_duplicates)},
    {.key = "timeout",
     .set = conf_set_duration,
     .offset = POLICY(probe_timeout_us),
     .min = US_PER_S,
     .max = 300 * US_PER_S},
    {0},
};

const struct conf_field config_policy_fields[] = {
    {.key = "confirmWithin",
     .set = conf_set_duration,
     .offset = POLICY(confirm_us),
     .min = 5 * US_PER_S,
     .max = 3600 * US_PER_S},
    {.key = "drift",
     .set = conf_set_choice,
     .offset = POLICY(drift),
     .choices = config_drift_names},
    {.key = "fight", .set = conf_set_map, .fields = fight_fields},
    {.key = "ownership", .set = conf_set_map, .fields = ownership_fields},
    {.key = "probes", .set = conf_set_map, .fields = probes_fields},
    {.key = "stateDir",
     .set = conf_set_string,
     .offset = POLICY(state_dir),
     .check = conf_check_file},
    {0},
};

void config_read_policy(struct conf *conf, const struct conf_node *document, void *userdata)
{
	struct config_reading *reading = userdata;

	reading->config.has_policy = true;
	if (conf_is_only_one(conf, document, &reading->policy))
		conf_read_map(conf, document, config_policy_fields, &reading->config.policy);
}
