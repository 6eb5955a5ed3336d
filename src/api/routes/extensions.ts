/**
 * Hooks and plugins, and what the agent is given: its tools and its prompt.
 */
import { z } from 'zod'
import { HermesError } from '../../lib/errors.ts'
import { defineRoutes } from '../route.ts'
import type { ApiServices } from '../services.ts'
import { okResponse } from '../shapes/common.ts'
import { hooksResponse, pluginsResponse } from '../shapes/extensions.ts'

const route = defineRoutes('Extensions')

export const listHooks = route('GET', '/api/hooks', {
  summary: 'Lists hooks and their processes.',
  response: hooksResponse,
  handle: async ({ hooks, redact }) => redacted({ hooks: hooks.list(), processes: hooks.processes() }, redact),
})

const onHook = { body: z.object({ name: z.string().describe('The name of a hook.') }), response: okResponse }

export const pauseHook = route('POST', '/api/hooks/pause', {
  summary: 'Pauses a hook.',
  ...onHook,
  handle: async ({ hooks }, { body: { name } }) => okIf(hooks.pause(name), name),
})

export const resumeHook = route('POST', '/api/hooks/resume', {
  summary: 'Resumes a hook.',
  ...onHook,
  handle: async ({ hooks }, { body: { name } }) => okIf(hooks.resume(name), name),
})

export const reloadHooks = route('POST', '/api/hooks/reload', {
  summary: 'Reads again which programs are accepted.',
  response: okResponse,
  async handle({ hooks }) {
    hooks.applyConfig()
    return { ok: true }
  },
})

export const testHook = route('POST', '/api/hooks/test', {
  summary: 'Calls a hook.',
  body: z.object({
    name: z.string(),
    event: z
      .string()
      .regex(/^[^\s:]+:\S+$/)
      .describe('For example `agent:end`.'),
    context: z.record(z.string(), z.unknown()).optional().describe('Without it: a sample.'),
  }),
  response: z.union([
    z.object({ ok: z.literal(true), ms: z.number(), value: z.unknown() }),
    z.object({ ok: z.literal(false), ms: z.number(), error: z.string(), stack: z.string() }),
  ]),
  async handle({ hooks, redact }, { body: { name, event, context } }) {
    const { sampleContext } = await import('../../hooks/sample-contexts.ts')
    const fired = await hooks.testFire(name, event, context ?? sampleContext(event))
    if (fired === undefined) throw hookNotFound(name)
    const { result, ms } = fired
    if (result.ok) return Response.json({ ok: true, ms, value: result.value ?? null })
    return { ok: false, ms, error: redact(result.message), stack: redact(result.stack) }
  },
})

export const listPlugins = route('GET', '/api/plugins', {
  summary: 'Lists plugins.',
  response: pluginsResponse,
  handle: async ({ plugins, redact }) => redacted({ plugins: await plugins.list() }, redact),
})

export const reloadPlugins = route('POST', '/api/plugins/reload', {
  summary: 'Applies config.yaml.',
  response: pluginsResponse,
  async handle({ plugins, lifecycle, redact }) {
    lifecycle.reloadConfig()
    await plugins.sync()
    return redacted({ plugins: await plugins.list() }, redact)
  },
})

export const switchPlugin = route('POST', '/api/plugins/switch', {
  summary: 'Enables or disables a plugin in config.yaml, and applies it.',
  body: z.strictObject({ id: z.string().min(1).max(200), enabled: z.boolean() }),
  response: pluginsResponse,
  async handle({ plugins, home, lifecycle, redact }, { body: { id, enabled } }) {
    const [{ switchPlugin: change }, all] = await Promise.all([
      import('../../flows/plugins/switch-plugin.ts'),
      plugins.list(),
    ])
    const plugin = all.find((each) => each.id === id && each.state !== 'missing')
    if (plugin === undefined) throw new HermesError('http/not-found', `There is no plugin ${JSON.stringify(id)}.`)
    change(home, all, plugin, enabled ? 'enable' : 'disable')
    lifecycle.reloadConfig()
    await plugins.sync()
    return redacted({ plugins: await plugins.list() }, redact)
  },
})

export const listTools = route('GET', '/api/tools', {
  summary: 'Lists the tools of the agent.',
  response: z.object({
    tools: z.array(
      z.object({
        name: z.string(),
        toolset: z.string(),
        isOptional: z.boolean().optional(),
        plugin: z.string().optional(),
      }),
    ),
  }),
  handle: async ({ agent }) => ({ tools: await agent.knownTools() }),
})

const size = { bytes: z.int(), tokens: z.int() }

export const showPrompt = route('GET', '/api/prompt', {
  summary: 'Shows the prompt of a new conversation.',
  query: z.object({ platform: z.string().min(1).default('cli') }),
  response: z.object({
    platform: z.string(),
    layers: z.array(z.object({ name: z.string(), text: z.string(), ...size })),
    prompt: z.object(size),
    ephemeral: z.object({ text: z.string(), messages: z.int(), ...size }),
    tools: z.array(z.object({ name: z.string(), ...size })),
  }),
  handle: async ({ agent }, { query }) => await agent.previewPrompt(query.platform),
})

/** What hooks and plugins threw can contain secrets. */
function redacted(answer: object, redact: ApiServices['redact']): Response {
  return new Response(redact(JSON.stringify(answer)), { headers: { 'content-type': 'application/json' } })
}

function okIf(exists: boolean, name: string): { ok: true } {
  if (!exists) throw hookNotFound(name)
  return { ok: true }
}

function hookNotFound(name: string): HermesError {
  return new HermesError('http/not-found', `There is no hook ${JSON.stringify(name)}.`)
}
