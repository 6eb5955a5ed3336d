/**
 * The gateway's HTTP addresses for `hermes hooks`: what hooks there are and how they do, trying one, pausing and resuming.
 */
import { z } from 'zod'
import type { HookRegistry } from '../hooks/registry.ts'
import { sampleOf } from '../hooks/samples.ts'
import { HermesError } from '../lib/errors.ts'
import type { Redactor } from '../lib/redact.ts'
import type { HttpRoute } from '../platforms/adapter.ts'

type Hooks = Pick<HookRegistry, 'list' | 'processes' | 'tryOut' | 'pause' | 'resume' | 'reconfigured'>

const named = z.object({ name: z.string() })
const trial = z.object({
  name: z.string(),
  event: z.string().regex(/^[^\s:]+:\S+$/),
  context: z.record(z.string(), z.unknown()).optional(),
})

/** @param redact takes secrets out of what handlers threw */
export function hookRoutes(hooks: Hooks, redact: Redactor): HttpRoute[] {
  const post = (path: string, act: (body: unknown) => Promise<unknown>): HttpRoute => ({
    method: 'POST',
    path,
    access: 'token',
    handle: async (request) => Response.json(await act(await jsonOf(request))),
  })
  const byName = (act: (name: string) => boolean) => async (body: unknown) => {
    const { name } = checked(named, body, '{"name": "<hook>"}')
    if (!act(name)) throw noHook(name)
    return { ok: true }
  }
  return [
    {
      method: 'GET',
      path: '/api/hooks',
      access: 'token',
      handle: () =>
        new Response(redact(JSON.stringify({ hooks: hooks.list(), processes: hooks.processes() })), jsonType),
    },
    post('/api/hooks/reload', async () => {
      hooks.reconfigured()
      return { ok: true }
    }),
    post('/api/hooks/pause', byName(hooks.pause)),
    post('/api/hooks/resume', byName(hooks.resume)),
    post('/api/hooks/test', async (body) => {
      const { name, event, context } = checked(trial, body, '{"name": "<hook>", "event": "agent:end", "context"?: {…}}')
      const result = await hooks.tryOut(name, event, context ?? sampleOf(event))
      if (result === undefined) throw noHook(name)
      const { outcome, ms } = result
      if (outcome.ok) return { ok: true, ms, value: outcome.value ?? null }
      return { ok: false, ms, error: redact(outcome.text), stack: redact(outcome.stack) }
    }),
  ]
}

const jsonType = { headers: { 'content-type': 'application/json' } }

function checked<T>(shape: z.ZodType<T>, body: unknown, expected: string): T {
  const found = shape.safeParse(body)
  if (found.success) return found.data
  throw new HermesError('http/bad-request', `Expected ${expected}.`)
}

async function jsonOf(request: Request): Promise<unknown> {
  return await request.json().catch((cause: unknown) => {
    throw new HermesError('http/bad-request', 'The body is not JSON.', { cause })
  })
}

function noHook(name: string): HermesError {
  return new HermesError('http/not-found', `No hook is called ${JSON.stringify(name)}.`)
}
