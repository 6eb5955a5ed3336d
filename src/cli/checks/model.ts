/**
 * Checks the model: its settings, and with one small request whether the provider accepts the key.
 */
import { answerTimeoutMs, askOnce } from '../../agent/models/ask-once.ts'
import { createProvider } from '../../agent/models/create-provider.ts'
import { ModelError, type Provider } from '../../agent/models/provider.ts'
import { resolveProvider } from '../../agent/models/resolve-provider.ts'
import { reportKeys } from '../../flows/models/key-status.ts'
import type { ErrorCode } from '../../lib/error-catalogue.ts'
import { HermesError, messageOf } from '../../lib/errors.ts'
import { openKeys, selectionOf, withStoredKey } from '../shared/known-keys.ts'
import { checkAuxiliaryModels } from './auxiliary-models.ts'
import { type Check, type CheckResult, note, ok, problem } from './check-result.ts'
import { checkKeyAddresses } from './key-addresses.ts'

/** The smallest limit that every provider accepts. */
const maxAnswerTokens = 16

export const checkModel: Check = async (facts) => {
  const { context, settings, offline } = facts
  const known = openKeys(settings, context.home.authFile, { needsFile: false })
  const selection = withStoredKey(selectionOf(settings, undefined), known)
  const choice = createProvider({ ...selection, idleTimeoutMs: answerTimeoutMs })
  if ('problem' in choice) {
    return [{ ...problem('Model', choice.problem.message, choice.problem.hint), code: choice.problem.code }]
  }
  if (choice.provider.name === 'demo') {
    const advice =
      'Choose a model with `hermes setup`, or add OPENAI_API_KEY or ANTHROPIC_API_KEY to .env and `model` to config.yaml.'
    return [
      {
        ...note('Model', 'no model is configured: the offline demonstration answers', advice),
        code: 'config/no-model',
      },
    ]
  }
  const name = `${choice.model} (${choice.provider.name}) at ${hostOf(choice.provider)}`
  const source = resolveProvider(selection)?.keys[0]?.source
  const key = selection.label ?? keyName(source)
  const tried = offline
    ? ok('Model', `${name}; ${key} was not tested`)
    : await tryModel(choice.provider, choice.model, name, key)
  const main = selectionOf(settings, undefined)
  const { fallback_providers: fallbacks } = settings.config.current()
  const addresses = checkKeyAddresses(main, source === undefined ? undefined : key, fallbacks)
  return [
    tried,
    ...checkKeys(facts, choice.provider.name),
    ...addresses,
    ...checkAuxiliaryModels(settings, main, known),
  ]
}

/** A missing key of the configured model is a problem of the model. */
function checkKeys({ context, settings }: Parameters<Check>[0], main: string): CheckResult[] {
  const { fallback_providers: fallbacks } = settings.config.current()
  const selection = selectionOf(settings, undefined)
  const { status, lines, failure } = reportKeys({ path: context.home.authFile, selection, fallbacks, now: Date.now() })
  if (failure !== undefined) return [{ ...problem('Keys', failure.message, failure.hint), code: failure.code }]
  return status.flatMap(({ provider, resting, revoked, missing }, index) => {
    const isFine = resting.length + revoked.length === 0 && (missing === undefined || provider === main)
    const advice =
      resting.length === 0
        ? `\`hermes auth list ${provider}\` shows the keys.`
        : `\`hermes auth reset ${provider}\` uses it again at once.`
    return isFine ? [] : [note('Keys', lines[index]?.text ?? '', advice)]
  })
}

/** Where the key is configured, without the key itself: `env:OPENAI_API_KEY`, `config:api_key`. */
export function keyName(source: string | undefined): string {
  if (source === undefined) return 'no key'
  const name = source.slice(source.indexOf(':') + 1)
  return source.startsWith('config:') ? `\`${name}\`` : name
}

function hostOf({ baseUrl }: Provider): string {
  return URL.parse(baseUrl)?.host ?? baseUrl
}

/** Sends one small request. Never rejects. */
export async function tryModel(provider: Provider, model: string, name: string, key: string): Promise<CheckResult> {
  try {
    await askOnce(provider, model, 'Reply with: ok', maxAnswerTokens)
    return ok('Model', `${name} answers (${key})`)
  } catch (error) {
    return failedCall(error, name, key)
  }
}

function failedCall(error: unknown, name: string, key: string): CheckResult {
  const code: ErrorCode = error instanceof ModelError ? `provider/${error.kind}` : 'provider/timeout'
  const status = error instanceof ModelError && error.status !== undefined ? `, status ${error.status}` : ''
  const text = `${name} does not answer with ${key}: ${messageOf(error)} (${code}${status})`
  const { hint } = new HermesError(code)
  // The key was accepted; the provider is busy.
  const isBusy = code === 'provider/rate-limit' || code === 'provider/overloaded'
  return { ...(isBusy ? note('Model', text, hint) : problem('Model', text, hint)), code }
}
