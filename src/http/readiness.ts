/**
 * What `/healthz` and `/readyz` say. Both answer without the classes of the web standard, because loading those costs
 * 17 MB, and an idle daemon that is only probed should not pay for them.
 */
import type { Answer } from './answer.ts'

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
  readonly settling?: boolean
}

export const alive: Answer = { status: 200, headers: {}, body: { status: 'ok' } }

/** `/readyz`. Strangers see the status alone: the names of platforms and the reasons are for the owner. */
export function readinessAnswer(readiness: Readiness, authorised: boolean): Answer {
  const { status, platforms, degraded } = readiness
  return {
    status: status === 'ready' ? 200 : 503,
    headers: status === 'ready' ? {} : { 'retry-after': '1' },
    body: authorised ? { status, platforms, degraded } : { status },
  }
}
