/**
 * Redact secrets: what looks like a key, a token or a password is replaced by a placeholder before the model reads it,
 * before an answer is sent and before anybody who watches is told.
 */
import { randomBytes } from 'node:crypto'
import { asString, GuardrailRejected, messageOf, type PluginContext } from '#sdk'
import { createRedactor } from './redactor.ts'
import { createSecretStores } from './secret-store.ts'
import { parseRedactSettings } from './settings.ts'
import { isVendorField, mapStrings, skipNone } from './visit-strings.ts'

/** After every other rewrite of its kind: what they add is looked at, too. */
const lastPriority = 1_000

const placeholderInstructions =
  'Texts like [secret:1a2b3c4d] stand for passwords, keys and tokens that are kept from you. The same text always stands for the same secret. Use it as it is where the secret belongs; never guess what it stands for.'

export async function register(ctx: PluginContext): Promise<void> {
  const { config, log, state } = ctx
  let settings = parseRedactSettings(config.all)
  let parsedConfig = config.all
  const sessions = createSecretStores(await loadKey(state))

  function current() {
    if (parsedConfig === config.all) return settings
    parsedConfig = config.all
    try {
      settings = parseRedactSettings(parsedConfig)
    } catch (error) {
      log.error({ error }, `the new settings are not used, the old ones stay: ${messageOf(error)}`)
    }
    return settings
  }
  const redactorFor = (sessionId: unknown) => createRedactor(sessions(asString(sessionId)), current())

  ctx.registerMiddleware(
    'llm_request',
    ({ request, session_id }) => {
      if (!current().model) return null
      const { extra_headers: _headers, extra_query: _query, ...body } = request
      const clean = rejectOnError(() => redactorFor(session_id).data(body, isVendorField))
      if (clean === body) return null
      return { request: { ...request, ...clean }, source: ctx.pluginId, reason: 'secrets became placeholders' }
    },
    { priority: lastPriority, fails: 'closed' },
  )
  ctx.registerMiddleware('tool_execution', ({ tool_name, args, session_id, next_call }) => {
    if (!current().restoreFor.has(tool_name)) return next_call()
    const { restore } = sessions(asString(session_id))
    return next_call(mapStrings(args, restore, skipNone))
  })
  ctx.registerHook('transform_tool_result', ({ result, session_id }) =>
    current().toolResults ? replacementOrNull(result, redactorFor(session_id).text(result)) : null,
  )
  ctx.registerHook('transform_llm_output', ({ response_text, session_id }) =>
    current().answers ? replacementOrNull(response_text, redactorFor(session_id).text(response_text)) : null,
  )
  for (const point of ['mark', 'scope_start', 'scope_end'] as const) {
    ctx.registerSanitizer('secrets', point, (_event, parts) => {
      if (!current().events) return parts
      const { data } = redactorFor(parts.metadata?.['session_id'])
      const { category_profile, metadata } = parts
      return {
        data: data(parts.data, skipNone),
        category_profile: category_profile && data(category_profile, skipNone),
        metadata: metadata && data(metadata, skipNone),
      }
    })
  }
  ctx.registerSystemPromptSection('secrets', () => (current().model ? placeholderInstructions : null))
}

/** Nothing of it is tried again: the person is told. */
function rejectOnError<Value>(look: () => Value): Value {
  try {
    return look()
  } catch (error) {
    const why = `This was not sent to the model: it could not be looked through for secrets (${messageOf(error)}).`
    throw new GuardrailRejected('redact-secrets', why)
  }
}

/** Kept, so that placeholders are the same after a restart: a conversation that changed would be read anew by its vendor. */
async function loadKey(state: PluginContext['state']): Promise<string> {
  const kept = asString(await state.get('key'))
  if (/^[0-9a-f]{64}$/.test(kept)) return kept
  const key = randomBytes(32).toString('hex')
  await state.set('key', key)
  return key
}

/** Null where nothing has to be replaced. */
function replacementOrNull(before: string, after: string): string | null {
  return after === before ? null : after
}
