/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which document is whose. A daemon names the kinds that it reads; every other kind that fairlead's
 * programs or Talos know is passed over, so that one set of files serves all. A kind that nobody
 * knows is an error: a document with a misspelt kind would otherwise silently do nothing.
 */
#include "base/conf_priv.h"

#include <stdlib.h>
#include <string.h>

#include "base/hint.h"
#include "base/mem.h"

static const char *const fairlead_kinds[] = {
    "EtcdClientConfig", "EtcdSnapshotConfig", "EtcdWatchConfig", "NetworkPolicyConfig",
    "NodeConfig",       "PrismConfig",        "VIPPolicyConfig",
};

/* Talos's multi-document kinds up to 1.14 (its configuration reference). */
static const char *const talos_kinds[] = {
    "BGPInstanceConfig",
    "BGPPeerConfig",
    "BlackholeRouteConfig",
    "BondConfig",
    "BridgeConfig",
    "CRIBaseRuntimeSpecConfig",
    "CRICustomizationConfig",
    "DHCPv4Config",
    "DHCPv6Config",
    "DiscoveryIdentityConfig",
    "DiscoveryServiceConfig",
    "DummyLinkConfig",
    "EnvironmentConfig",
    "EtcFileConfig",
    "EthernetConfig",
    "EventSinkConfig",
    "ExistingVolumeConfig",
    "ExtensionServiceConfig",
    "ExternalVolumeConfig",
    "FilesystemScrubConfig",
    "FilesystemTrimConfig",
    "HCloudVIPConfig",
    "HTTPProbeConfig",
    "HostnameConfig",
    "ImageCacheConfig",
    "ImageVerificationConfig",
    "KernelModuleConfig",
    "KmsgLogConfig",
    "KubeAPIServerCAConfig",
    "KubeAPIServerConfig",
    "KubeAdmissionControlConfig",
    "KubeAggregatorCAConfig",
    "KubeAuditPolicyConfig",
    "KubeAuthenticationConfig",
    "KubeAuthorizerConfig",
    "KubeClusterConfig",
    "KubeControllerManagerConfig",
    "KubeCoreDNSConfig",
    "KubeCredentialProviderConfig",
    "KubeEtcdEncryptionConfig",
    "KubeExternalManifestConfig",
    "KubeFlannelCNIConfig",
    "KubeInlineManifestConfig",
    "KubeNetworkConfig",
    "KubeNodeConfig",
    "KubePrismConfig",
    "KubeProxyConfig",
    "KubeSchedulerConfig",
    "KubeServiceAccountConfig",
    "KubeSpanConfig",
    "KubeSpanEndpointsConfig",
    "KubeStaticPodConfig",
    "KubeTalosAPIAccessConfig",
    "KubeletConfig",
    "LVMLogicalVolumeConfig",
    "LVMVolumeGroupConfig",
    "Layer2VIPConfig",
    "LinkAliasConfig",
    "LinkConfig",
    "MacVLANConfig",
    "NetworkDefaultActionConfig",
    "NetworkLinkIngressConfig",
    "NetworkNATRuleConfig",
    "NetworkRuleConfig",
    "NetworkWifiConfig",
    "OOMConfig",
    "PCIDriverRebindConfig",
    "RAIDArrayConfig",
    "RawVolumeConfig",
    "RegistryAuthConfig",
    "RegistryMirrorConfig",
    "RegistryTLSConfig",
    "ResolverConfig",
    "RoutingRuleConfig",
    "SecurityProfileConfig",
    "SideroLinkConfig",
    "StaticHostConfig",
    "SwapVolumeConfig",
    "SysctlConfig",
    "SysfsConfig",
    "TCPProbeConfig",
    "TimeSyncConfig",
    "TrustedRootsConfig",
    "UdevRulesConfig",
    "UnattendedInstallConfig",
    "UserVolumeConfig",
    "VLANConfig",
    "VRFConfig",
    "VXLANConfig",
    "VethConfig",
    "VolumeConfig",
    "WatchdogTimerConfig",
    "WireguardConfig",
    "ZswapConfig",
};

static bool has_name(const char *const *names, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++) {
		if (strcmp(names[i], name) == 0)
			return true;
	}
	return false;
}

/* Who left "Config" out. Both without it: the more letters, the more may be wrong. */
static const char *nearest_to_short(const char *word)
{
	char stems[ARRAY_SIZE(fairlead_kinds)][HINT_WORD_MAX];
	const char *list[ARRAY_SIZE(fairlead_kinds)], *nearest;

	for (size_t i = 0; i < ARRAY_SIZE(fairlead_kinds); i++) {
		(void) snprintf(stems[i], sizeof(stems[i]), "%.*s",
		                (int) (strlen(fairlead_kinds[i]) - strlen("Config")), fairlead_kinds[i]);
		list[i] = stems[i];
	}
	nearest = hint_nearest(word, list, ARRAY_SIZE(list));
	for (size_t i = 0; i < ARRAY_SIZE(list) && nearest != NULL; i++) {
		if (list[i] == nearest)
			return fairlead_kinds[i];
	}
	return NULL;
}

static void report_unknown_kind(struct conf *conf, const struct conf_node *kind)
{
	const char *nearest = hint_nearest(kind->text, fairlead_kinds, ARRAY_SIZE(fairlead_kinds));
	AUTO(free) char *hint = NULL;

	if (nearest == NULL)
		nearest = nearest_to_short(kind->text);
	if (nearest == NULL)
		nearest = hint_nearest(kind->text, talos_kinds, ARRAY_SIZE(talos_kinds));
	if (nearest != NULL)
		hint = xasprintf("did you mean '%s'?", nearest);
	conf_error(conf, kind, hint != NULL ? hint : "neither fairlead nor Talos has it",
	           "unknown kind");
}

/* True if a reader may have it. */
static bool check_header(struct conf *conf, const struct conf_node *document,
                         const struct conf_node *kind)
{
	const struct conf_node *api = conf_node_find(document, "apiVersion");
	const char *wanted;

	if (!conf_expect(conf, kind, CONF_SCALAR))
		return false;
	if (has_name(fairlead_kinds, ARRAY_SIZE(fairlead_kinds), kind->text)) {
		wanted = CONF_API_FAIRLEAD;
	} else if (has_name(talos_kinds, ARRAY_SIZE(talos_kinds), kind->text)) {
		wanted = CONF_API_TALOS;
	} else {
		report_unknown_kind(conf, kind);
		return false;
	}
	if (api == NULL) {
		conf_error(conf, document, NULL, "a %s needs 'apiVersion: %s'", kind->text, wanted);
		return false;
	}
	if (!conf_expect(conf, api, CONF_SCALAR))
		return false;
	if (strcmp(api->text, wanted) != 0) {
		conf_error(conf, api, NULL, "the apiVersion of a %s is %s", kind->text, wanted);
		return false;
	}
	return true;
}

static bool check_legacy(struct conf *conf, const struct conf_node *document)
{
	const struct conf_node *version = conf_node_find(document, "version");

	if (conf_node_find(document, "machine") == NULL &&
	    conf_node_find(document, "cluster") == NULL) {
		conf_error(conf, document, "it has neither 'kind:' nor Talos's 'machine:' or 'cluster:'",
		           "cannot tell what this document is");
		return false;
	}
	if (version == NULL)
		return true;
	if (!conf_expect(conf, version, CONF_SCALAR))
		return false;
	if (strcmp(version->text, CONF_API_TALOS) != 0) {
		conf_error(conf, version, NULL, "the version of a machine configuration is %s",
		           CONF_API_TALOS);
		return false;
	}
	return true;
}

static void read_document(struct conf *conf, const struct conf_node *document,
                          const struct conf_kind *kinds, void *userdata)
{
	const struct conf_node *kind = conf_node_find(document, "kind");
	const char *name = kind == NULL ? CONF_KIND_LEGACY : kind->text;
	bool good;

	good = kind != NULL ? check_header(conf, document, kind) : check_legacy(conf, document);
	if (!good)
		return;
	for (; kinds->kind != NULL; kinds++) {
		size_t before;

		if (strcmp(kinds->kind, name) != 0)
			continue;
		before = conf_enter(conf, "%s", name);
		if (kinds->read != NULL)
			kinds->read(conf, document, userdata);
		else
			conf_read_map(conf, document, kinds->fields, userdata);
		conf_leave(conf, before);
	}
}

void conf_read(struct conf *conf, const struct conf_kind *kinds, void *userdata)
{
	for (size_t i = 0; i < conf->n_documents; i++)
		read_document(conf, conf->documents[i], kinds, userdata);
}
