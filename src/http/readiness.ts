/**
 * The responses of `/healthz` and `/readyz`. They do not use the classes of the Fetch API, which cost 17 MB that an idle gateway
 * does not need.
 */
import type { JsonResponse } from './json-response.ts'

export type PlatformState = 'connecting' | 'connected' | 'failed' | 'disabled'

export interface PlatformHealth {
  readonly state: PlatformState
  readonly reason?: string
  /** Only for platforms that report received messages. */
  readonly receiving?: boolean
}

/** Most requests need the phase alone. The rest looks at every part of the gateway. */
export interface Readiness {
  readonly lifecycle: { readonly phase: 'starting' | 'ready' | 'draining' }
  platforms(): Readonly<Record<string, PlatformHealth>>
  /** Why the gateway is degraded. Empty if it is not. */
  degraded(): readonly string[]
  /** Platforms are still connecting and may add routes, so an unknown path gives 503 instead of 404. */
  isConnecting(): boolean
}

export const livenessResponse: JsonResponse = { status: 200, headers: {}, body: { status: 'ok' } }

/** `/readyz`. Without the token it contains only the status, not the platforms and reasons. */
export function createReadinessResponse(readiness: Readiness, authorised: boolean): JsonResponse {
  const { phase: status } = readiness.lifecycle
  return {
    status: status === 'ready' ? 200 : 503,
    headers: status === 'ready' ? {} : { 'retry-after': '1' },
    body: authorised ? { status, platforms: readiness.platforms(), degraded: readiness.degraded() } : { status },
  }
}
