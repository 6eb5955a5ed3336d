/**
 * The state of the gateway. A file of its own, because each command that looks for the gateway loads it.
 */
import { z } from 'zod'
import { defineRoutes } from '../route.ts'
import { platformHealth } from '../shapes/common.ts'

const route = defineRoutes('Health')
const reasons = z.array(z.string())
const stateAndReason = { state: z.string(), reason: z.string() }

export const showStatus = route('GET', '/api/status', {
  summary: 'The state of the gateway.',
  response: z.looseObject({
    version: z.string(),
    pid: z.int(),
    home: z.string(),
    url: z.string(),
    status: z.enum(['starting', 'ready', 'draining']),
    uptimeMs: z.number(),
    model: z.string(),
    provider: z.string(),
    platforms: z.record(z.string(), platformHealth),
    degraded: reasons,
    pendingRestart: reasons,
    turns: z.object({ running: z.int(), waiting: z.int() }),
    // An older gateway may lack these.
    background: z.array(z.looseObject({ id: z.string(), by: z.string(), ageMs: z.number() })).default([]),
    hooks: z.array(z.looseObject({ name: z.string(), ...stateAndReason })).default([]),
    plugins: z.array(z.looseObject({ id: z.string(), ...stateAndReason })).default([]),
    daemons: z
      .array(z.looseObject({ name: z.string(), owner: z.string(), restarts: z.number(), ...stateAndReason }))
      .default([]),
    homeChannels: z
      .array(
        z.looseObject({
          target: z.looseObject({ platform: z.string(), account: z.string(), chatId: z.string() }),
          name: z.string().optional(),
          origin: z.string(),
        }),
      )
      .default([]),
  }),
  async handle({ store, accountDirectory, lifecycle }) {
    const { readHomeChannels } = await import('../../flows/delivery/home-channels.ts')
    return { ...lifecycle.status(), homeChannels: await readHomeChannels({ store, accountDirectory }) }
  },
})
