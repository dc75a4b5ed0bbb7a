/* SPDX-License-Identifier: Apache-2.0 */
/* The signature of a message, against the example that the Standard Webhooks specification's
 * authors publish; the story of the webhook verifies real ones. */
#include "web/webask.h"

#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "tests/unit/check.h"

int main(void)
{
	AUTO(free) char *key = NULL;
	AUTO(free) char *signature = NULL;
	struct webhook_message message = {
	    .id = "msg_p5jXN8AQM9LWM0D4loKWxJek",
	    .body = "{\"test\": 2432232314}",
	    .now_s = 1614265330,
	};

	CHECK_EQ_INT(base64_decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", &key, &message.key_len), 0);
	message.key = key;
	signature = webhook_sign(&message);
	CHECK_EQ_STR(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
	return check_result();
}
