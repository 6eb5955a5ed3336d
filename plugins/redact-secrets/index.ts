/**
 * Redact secrets: what looks like a key, a token or a password is replaced by a placeholder before the model reads it,
 * before an answer is sent and before anybody who watches is told.
 */
import { randomBytes } from 'node:crypto'
import { GuardrailRejected, messageOf, type PluginContext, str } from '#sdk'
import { createRedaction } from './redaction.ts'
import { createSessions } from './sessions.ts'
import { redactSettings } from './settings.ts'
import { changed, nothing, sealedByVendors } from './walk.ts'

/** After every other rewrite of its kind: what they add is looked at, too. */
const last = 1_000

const forTheModel =
  'Texts like [secret:1a2b3c4d] stand for passwords, keys and tokens that are kept from you. The same text always stands for the same secret. Use it as it is where the secret belongs; never guess what it stands for.'

export async function register(ctx: PluginContext): Promise<void> {
  const { config, log, state } = ctx
  let settings = redactSettings(config.all)
  let readFrom = config.all
  const sessions = createSessions(await keyIn(state))

  function current() {
    if (readFrom === config.all) return settings
    readFrom = config.all
    try {
      settings = redactSettings(readFrom)
    } catch (error) {
      log.error({ error }, `the new settings are not used, the old ones stay: ${messageOf(error)}`)
    }
    return settings
  }
  const redaction = (sessionId: unknown) => createRedaction(sessions(str(sessionId)), current())

  ctx.registerMiddleware(
    'llm_request',
    ({ request, session_id }) => {
      if (!current().model) return null
      const { extra_headers: _headers, extra_query: _query, ...body } = request
      const clean = orRefused(() => redaction(session_id).data(body, sealedByVendors))
      if (clean === body) return null
      return { request: { ...request, ...clean }, source: ctx.pluginId, reason: 'secrets became placeholders' }
    },
    { priority: last, fails: 'closed' },
  )
  ctx.registerMiddleware('tool_execution', ({ tool_name, args, session_id, next_call }) => {
    if (!current().restoreFor.has(tool_name)) return next_call()
    const { restored } = sessions(str(session_id))
    return next_call(changed(args, restored, nothing))
  })
  ctx.registerHook('transform_tool_result', ({ result, session_id }) =>
    current().toolResults ? different(result, redaction(session_id).text(result)) : null,
  )
  ctx.registerHook('transform_llm_output', ({ response_text, session_id }) =>
    current().answers ? different(response_text, redaction(session_id).text(response_text)) : null,
  )
  for (const point of ['mark', 'scope_start', 'scope_end'] as const) {
    ctx.registerSanitizer('secrets', point, (_event, parts) => {
      if (!current().events) return parts
      const { data } = redaction(parts.metadata?.['session_id'])
      const { category_profile, metadata } = parts
      return {
        data: data(parts.data, nothing),
        category_profile: category_profile && data(category_profile, nothing),
        metadata: metadata && data(metadata, nothing),
      }
    })
  }
  ctx.registerSystemPromptSection('secrets', () => (current().model ? forTheModel : null))
}

/** Nothing of it is tried again: the person is told. */
function orRefused<Value>(look: () => Value): Value {
  try {
    return look()
  } catch (error) {
    const why = `This was not sent to the model: it could not be looked through for secrets (${messageOf(error)}).`
    throw new GuardrailRejected('redact-secrets', why)
  }
}

/** Kept, so that placeholders are the same after a restart: a conversation that changed would be read anew by its vendor. */
async function keyIn(state: PluginContext['state']): Promise<string> {
  const kept = str(await state.get('key'))
  if (/^[0-9a-f]{64}$/.test(kept)) return kept
  const key = randomBytes(32).toString('hex')
  await state.set('key', key)
  return key
}

/** Null where nothing has to be replaced. */
function different(before: string, after: string): string | null {
  return after === before ? null : after
}
