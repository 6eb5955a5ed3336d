/**
 * Composes the metrics. Loaded only where they are enabled.
 */
import { startMetrics } from '../flows/metrics/gateway-metrics.ts'
import { createMetricsRoute } from '../flows/metrics/metrics-route.ts'
import { openMessages } from '../inbox/open-messages.ts'
import { openReplies } from '../outbox/open-replies.ts'
import type { AppContext } from './context.ts'
import type { Core } from './core.ts'
import type { Endpoints } from './endpoints.ts'

/** Counts, and serves `/metrics`, until the returned function is called. */
export function composeMetrics(context: AppContext, core: Core, { http, token }: Endpoints): () => void {
  const { options, settings, store } = context
  const queues = () =>
    store.run(function* () {
      return { messages: yield* openMessages(), replies: yield* openReplies() }
    })
  const metrics = startMetrics({ ...context, ...core, version: options.version, queues })
  const removeRoute = http.route(createMetricsRoute(metrics, () => settings().http.metrics_token ?? token()))
  return () => {
    removeRoute()
    metrics.stop()
  }
}
