/**
 * `GET /metrics`, for Prometheus. It has a token of its own, because a monitoring server needs no right to use the agent.
 */
import { isBearerToken } from '../../http/access.ts'
import { createErrorResponse } from '../../http/json-response.ts'
import { HermesError } from '../../lib/errors.ts'
import type { HttpRoute } from '../../platforms/http-route.ts'
import { metricsContentType, renderMetrics } from './exposition.ts'
import type { GatewayMetrics } from './gateway-metrics.ts'

/** @param token `http.metrics_token`, or the token of the gateway; called for every request */
export function createMetricsRoute(metrics: Pick<GatewayMetrics, 'read'>, token: () => string): HttpRoute {
  return {
    method: 'GET',
    path: '/metrics',
    access: 'own',
    async handle(request) {
      if (!isBearerToken(request.headers.get('authorization') ?? undefined, token())) {
        const { status, headers, body } = createErrorResponse(new HermesError('http/unauthorised'))
        return Response.json(body, { status, headers: { ...headers, 'www-authenticate': 'Bearer' } })
      }
      return new Response(renderMetrics(await metrics.read()), {
        headers: { 'content-type': metricsContentType, 'cache-control': 'no-store' },
      })
    },
  }
}
