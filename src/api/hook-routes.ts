/**
 * The HTTP API of `hermes hooks`: list, test, pause and resume hooks.
 */
import type { HookRegistry } from '../hooks/registry.ts'
import { sampleContext } from '../hooks/sample-contexts.ts'
import { HermesError } from '../lib/errors.ts'
import type { Redactor } from '../lib/redact.ts'
import type { HttpRoute } from '../platforms/adapter.ts'

type HookAdmin = Pick<HookRegistry, 'list' | 'processes' | 'testFire' | 'pause' | 'resume' | 'applyConfig'>

/** @param redact takes secrets out of errors of handlers */
export function hookRoutes(hooks: HookAdmin, redact: Redactor): HttpRoute[] {
  const post = (path: string, act: (body: unknown) => Promise<unknown>): HttpRoute => ({
    method: 'POST',
    path,
    access: 'token',
    handle: async (request) => Response.json(await act(await readJson(request))),
  })
  const byName = (act: (name: string) => boolean) => async (body: unknown) => {
    const { parseInput, hookBody } = await loadShapes()
    const { name } = parseInput(hookBody, body)
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
      const { parseInput, hookTestBody } = await loadShapes()
      const { name, event, context } = parseInput(hookTestBody, body)
      const fired = await hooks.testFire(name, event, context ?? sampleContext(event))
      if (fired === undefined) throw hookNotFound(name)
      const { result, ms } = fired
      if (result.ok) return { ok: true, ms, value: result.value ?? null }
      return { ok: false, ms, error: redact(result.message), stack: redact(result.stack) }
    }),
  ]
}

const jsonType = { headers: { 'content-type': 'application/json' } }

async function loadShapes() {
  const [{ parseInput }, shapes] = await Promise.all([
    import('../lib/parse-input.ts'),
    import('./management-shapes.ts'),
  ])
  return { ...shapes, parseInput }
}

async function readJson(request: Request): Promise<unknown> {
  return await request.json().catch((cause: unknown) => {
    throw new HermesError('http/bad-request', 'The body is not JSON.', { cause })
  })
}

function hookNotFound(name: string): HermesError {
  return new HermesError('http/not-found', `There is no hook ${JSON.stringify(name)}.`)
}
