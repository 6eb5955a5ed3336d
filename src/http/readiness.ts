/**
 * What `/healthz` and `/readyz` say. Both answer without the classes of the web standard, because loading those costs
 * 17 MB, and an idle daemon that is only probed should not pay for them.
 */
import type { JsonResponse } from './json-response.ts'

export type PlatformState = 'connecting' | 'connected' | 'failed' | 'disabled'

export interface PlatformHealth {
  readonly state: PlatformState
  readonly reason?: string
  /** Only of platforms that tell when something came in. */
  readonly receiving?: boolean
}

export interface Readiness {
  readonly status: 'starting' | 'ready' | 'draining'
  readonly platforms: Readonly<Record<string, PlatformHealth>>
  /** Why the daemon runs degraded; empty when all is well. */
  readonly degraded: readonly string[]
  /** First connects are still under way: an unknown address may be served in a moment, so it is 503 and not 404. */
  readonly connecting?: boolean
}

export const livenessResponse: JsonResponse = { status: 200, headers: {}, body: { status: 'ok' } }

/** `/readyz`. Strangers see the status alone: the names of platforms and the reasons are for the owner. */
export function createReadinessResponse(readiness: Readiness, authorised: boolean): JsonResponse {
  const { status, platforms, degraded } = readiness
  return {
    status: status === 'ready' ? 200 : 503,
    headers: status === 'ready' ? {} : { 'retry-after': '1' },
    body: authorised ? { status, platforms, degraded } : { status },
  }
}
