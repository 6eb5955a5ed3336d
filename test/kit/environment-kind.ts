/**
 * A kind of environment as the gateway uses it: it completes what the kind describes.
 */
import { completeEnvironment } from '../../src/agent/environments/complete-environment.ts'
import type { Environment } from '../../src/agent/environments/environment.ts'
import type { EnvironmentKind, EnvironmentRequest } from '../../src/agent/environments/kind.ts'
import { filterEnvironment } from '../../src/agent/environments/passed-variables.ts'

/** The part of a request that the gateway derives from the rest. */
export type GivenRequest<Settings> = Omit<EnvironmentRequest<Settings>, 'clientVariables' | 'profile'>

export function toRequest<Settings>(given: GivenRequest<Settings>): EnvironmentRequest<Settings> {
  const clientVariables = (passthrough: readonly string[]) =>
    filterEnvironment({ env: given.gatewayEnv, passthrough, blocked: given.withheld })
  return { ...given, clientVariables, profile: 'default' }
}

/** The environment of a conversation. */
export function openEnvironment<Settings>(
  kind: EnvironmentKind<Settings>,
  request: EnvironmentRequest<Settings>,
): Environment {
  return completeEnvironment(kind.create(request), request.home)
}
