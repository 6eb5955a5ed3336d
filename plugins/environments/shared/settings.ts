/**
 * The keys of `terminal` that every kind of container reads. The configuration of the gateway has their defaults.
 */
import { z } from 'zod'
import type { EnvironmentKind, EnvironmentRequest } from '#sdk'

export const containerSettings = z.object({
  /** Names of variables of the gateway that commands receive. */
  docker_forward_env: z.array(z.string()),
  docker_network: z.boolean(),
  container_persistent: z.boolean(),
  /** CPUs; 0 for no limit. */
  container_cpu: z.number(),
  /** MB; 0 for no limit. */
  container_memory: z.number(),
})

export type ContainerSettings = z.output<typeof containerSettings>

/** What a container is planned from, without the conversation. */
export type SettingsRequest<Settings> = Omit<EnvironmentRequest<Settings>, 'sessionId'>

/** The kind for the section `terminal` as it is, of which it reads the keys of the schema. */
export function readSettings<Settings>(schema: z.ZodType<Settings>, kind: EnvironmentKind<Settings>): EnvironmentKind {
  const read = <Request extends SettingsRequest<unknown>>(request: Request) => ({
    ...request,
    settings: schema.parse(request.settings),
  })
  const { create, check, recover } = kind
  return {
    create: (request) => create(read(request)),
    ...(check && { check: (request, signal) => check(read(request), signal) }),
    ...(recover && { recover: (request, signal) => recover(read(request), signal) }),
  }
}
