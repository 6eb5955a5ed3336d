/**
 * The HTTP API of `hermes hooks`: list, test, pause and resume hooks.
 */
import { z } from 'zod'
import type { HookRegistry } from '../hooks/registry.ts'
import { sampleContext } from '../hooks/sample-contexts.ts'
import { HermesError } from '../lib/errors.ts'
import type { Redactor } from '../lib/redact.ts'
import type { HttpRoute } from '../platforms/adapter.ts'

type HookAdmin = Pick<HookRegistry, 'list' | 'processes' | 'testFire' | 'pause' | 'resume' | 'applyConfig'>

const nameSchema = z.object({ name: z.string() })
const testSchema = z.object({
  name: z.string(),
  event: z.string().regex(/^[^\s:]+:\S+$/),
  context: z.record(z.string(), z.unknown()).optional(),
})

/** @param redact takes secrets out of errors of handlers */
export function hookRoutes(hooks: HookAdmin, redact: Redactor): HttpRoute[] {
  const post = (path: string, act: (body: unknown) => Promise<unknown>): HttpRoute => ({
    method: 'POST',
    path,
    access: 'token',
    handle: async (request) => Response.json(await act(await readJson(request))),
  })
  const byName = (act: (name: string) => boolean) => async (body: unknown) => {
    const { name } = parseBody(nameSchema, body, '{"name": "<hook>"}')
    if (!act(name)) throw hookNotFound(name)
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
      hooks.applyConfig()
      return { ok: true }
    }),
    post('/api/hooks/pause', byName(hooks.pause)),
    post('/api/hooks/resume', byName(hooks.resume)),
    post('/api/hooks/test', async (body) => {
      const { name, event, context } = parseBody(
        testSchema,
        body,
        '{"name": "<hook>", "event": "agent:end", "context"?: {…}}',
      )
      const fired = await hooks.testFire(name, event, context ?? sampleContext(event))
      if (fired === undefined) throw hookNotFound(name)
      const { result, ms } = fired
      if (result.ok) return { ok: true, ms, value: result.value ?? null }
      return { ok: false, ms, error: redact(result.message), stack: redact(result.stack) }
    }),
  ]
}

const jsonType = { headers: { 'content-type': 'application/json' } }

function parseBody<T>(shape: z.ZodType<T>, body: unknown, expected: string): T {
  const found = shape.safeParse(body)
  if (found.success) return found.data
  throw new HermesError('http/bad-request', `Expected ${expected}.`)
}

async function readJson(request: Request): Promise<unknown> {
  return await request.json().catch((cause: unknown) => {
    throw new HermesError('http/bad-request', 'The body is not JSON.', { cause })
  })
}

function hookNotFound(name: string): HermesError {
  return new HermesError('http/not-found', `There is no hook ${JSON.stringify(name)}.`)
}
