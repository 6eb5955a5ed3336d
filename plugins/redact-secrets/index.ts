/**
 * Replaces keys, tokens and passwords with placeholders before the model reads them, before a reply is sent and before
 * subscribers receive an event.
 */
import { randomBytes } from 'node:crypto'
import { asString, GuardrailRejected, messageOf, type PluginContext } from '#sdk'
import { createRedactor } from './redactor.ts'
import { createSecretStores } from './secret-store.ts'
import { parseRedactSettings } from './settings.ts'
import { isVendorField, mapStrings, skipNone } from './visit-strings.ts'

/** Runs after every other middleware, so that text which they add is redacted too. */
const lastPriority = 1_000

const placeholderInstructions =
  'A text like [secret:1a2b3c4d] is a placeholder for a password, key or token that you cannot see. The same placeholder always means the same secret. Use the placeholder unchanged where the secret belongs, and never guess its value.'

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
      log.error(
        { event: 'redact_secrets.settings_rejected', err: error },
        `invalid settings, the previous ones stay in use: ${messageOf(error)}`,
      )
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
      return { request: { ...request, ...clean }, source: ctx.pluginId, reason: 'replaced secrets with placeholders' }
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
  for (const eventType of ['mark', 'scope_start', 'scope_end'] as const) {
    ctx.registerSanitizer('secrets', eventType, (_event, parts) => {
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

/** A rejected request is not retried, and the user is notified. */
function rejectOnError<Value>(redact: () => Value): Value {
  try {
    return redact()
  } catch (error) {
    const reason = `The request was not sent to the model because its secrets could not be redacted (${messageOf(error)}).`
    throw new GuardrailRejected('redact-secrets', reason)
  }
}

/** Stored, so that placeholders are the same after a restart and the provider's prompt cache stays valid. */
async function loadKey(state: PluginContext['state']): Promise<string> {
  const stored = asString(await state.get('key'))
  if (/^[0-9a-f]{64}$/.test(stored)) return stored
  const key = randomBytes(32).toString('hex')
  await state.set('key', key)
  return key
}

/** `null` if nothing was replaced. */
function replacementOrNull(before: string, after: string): string | null {
  return after === before ? null : after
}
