/**
 * `hermes model`: which model answers, which ones can be chosen, and whether one of them works.
 */
import { resolveProvider } from '../agent/models/resolve-provider.ts'
import { editModel } from '../flows/models/edit-model.ts'
import { type ProviderModels, splitProvider } from '../flows/models/model-directory.ts'
import { HermesError, messageOf } from '../lib/errors.ts'
import { exitCodes } from '../lib/exit-codes.ts'
import { createRedactor } from '../lib/redact.ts'
import { toSingleLine } from '../lib/visible-text.ts'
import type { CliContext, JsonOption } from './kit/context.ts'
import { createDisplay, type Display, reportEmptyList } from './kit/display.ts'
import { type ConfiguredModels, noProvider, openModels, requireFound, unknownProvider } from './models/model-access.ts'
import { printCheck, printEdited, probeModel } from './models/model-report.ts'

interface ListedModels extends ProviderModels {
  /** A server on this machine that was found running and is not configured. */
  readonly isFound?: true
}

const maxShown = 20

/** Providers with a key, configured servers and local servers that run, with their models. Throws `cli/not-found`. */
export async function modelList(
  context: CliContext,
  provider: string | undefined,
  { json }: JsonOption,
): Promise<void> {
  const access = await openModels(context)
  const lists = provider === undefined ? await listAll(access) : [await listOne(access, provider)]
  const display = createDisplay(context.output, context.environment)
  const redact = createRedactor({ secrets: access.settings.secrets.all })
  if (json)
    return display.json(
      lists.map(({ failure, isFound, ...listing }) => ({
        ...listing,
        key: access.keyOf(listing.provider) ?? null,
        ...(isFound === true ? { found: true } : {}),
        failure: failure && redact(messageOf(failure)),
      })),
    )
  if (lists.length === 0)
    return reportEmptyList(context, 'No provider has a key, and no model server runs here. `hermes model` adds one.')
  const { model } = access.selection()
  const current = resolveProvider(access.selection())?.name
  const limit = provider === undefined ? maxShown : Number.POSITIVE_INFINITY
  for (const [index, listing] of lists.entries()) {
    if (index > 0) display.line()
    printList(display, { ...listing, isCurrent: (id) => listing.provider === current && id === model, limit, redact })
  }
}

async function listAll(access: ConfiguredModels): Promise<ListedModels[]> {
  const [names, servers] = await Promise.all([access.providers(), access.localServers()])
  const lists = await Promise.all(names.map((name) => access.list(name)))
  const others = servers.filter(({ name }) => !names.includes(name))
  return [
    ...lists.flatMap((each) => (each === undefined ? [] : [each])),
    ...others.map(({ name, ...server }): ListedModels => ({ provider: name, ...server, isFound: true })),
  ]
}

async function listOne(access: ConfiguredModels, provider: string): Promise<ListedModels> {
  const models = await access.list(provider)
  if (models !== undefined) return models
  const model = await access.find('', provider, access.selection())
  throw unknownProvider(provider, model.kind === 'unknown-provider' ? model.closest : null)
}

function printList(
  display: Display,
  {
    provider,
    label,
    baseUrl,
    models,
    failure,
    isFound,
    isCurrent,
    limit,
    redact,
  }: ListedModels & {
    readonly isCurrent: (id: string) => boolean
    readonly limit: number
    readonly redact: (text: string) => string
  },
): void {
  const about = `${toSingleLine(provider)} (${toSingleLine(label)}) at ${toSingleLine(baseUrl)}`
  display.line(display.tone('strong', `${about}${isFound === true ? ', runs on this machine' : ''}`))
  for (const { id, contextLength } of models.slice(0, limit)) {
    const window = contextLength === undefined ? '' : `  ${contextLength.toLocaleString('en')} tokens`
    const now = isCurrent(id) ? '  (in use)' : ''
    display.line(`  ${toSingleLine(id)}${display.tone('dim', window)}${display.tone('good', now)}`)
  }
  if (models.length > limit) display.line(`  … and ${models.length - limit} more: hermes model list ${provider}`)
  if (failure !== undefined) display.line(display.tone('warn', `  ! ${toSingleLine(redact(messageOf(failure)))}`))
  else if (models.length === 0) display.line('  no models')
}

/** Exit code 1 when the model or its provider does not work. Throws `cli/not-found`. */
export async function modelProbe(context: CliContext, words: string | undefined, { json }: JsonOption): Promise<void> {
  const access = await openModels(context)
  const { provider, model } = await targetOf(access, words)
  const checks = await probeModel(access, provider, model)
  const redact = createRedactor({ secrets: access.settings.secrets.all })
  const shown = checks.map(({ text, advice, ...check }) => ({
    ...check,
    text: redact(text),
    advice: advice && redact(advice),
  }))
  const isOk = shown.every(({ state }) => state !== 'problem')
  if (!isOk) context.exitCode = exitCodes.failed
  const display = createDisplay(context.output, context.environment)
  const { baseUrl = '' } = resolveProvider(access.settingsFor(provider, model)) ?? {}
  if (json)
    return display.json({ ok: isOk, provider, model, baseUrl, key: access.keyOf(provider) ?? null, checks: shown })
  for (const check of shown) printCheck(display, check)
}

/** `model` is '' where a provider is named without one. */
async function targetOf(
  access: ConfiguredModels,
  words: string | undefined,
): Promise<{ provider: string; model: string }> {
  const current = access.selection()
  if (words === undefined) {
    const name = resolveProvider(current)?.name ?? ''
    if (name === 'demo') throw noProvider()
    return { provider: name, model: current.model }
  }
  const isProvider = resolveProvider({ ...current, provider: words }) !== undefined
  const model = await access.find(words, undefined, current)
  if (isProvider && model.kind !== 'found') return { provider: words, model: '' }
  // The checks say what is wrong.
  if (model.kind === 'unusable') return { provider: model.provider, model: words.slice(words.indexOf(':') + 1) }
  return requireFound(model)
}

/** Writes the model into config.yaml. Throws `cli/not-found`, `cli/failed`, `config/…`. */
export async function modelSet(
  context: CliContext,
  words: string,
  { provider, unchecked, json }: JsonOption & { readonly provider?: string; readonly unchecked: boolean },
): Promise<void> {
  const access = await openModels(context)
  const result = unchecked
    ? uncheckedModel(access, words, provider)
    : requireFound(await access.find(words, provider, access.selection()))
  const edited = editModel(context.home, access.selection(), result)
  const display = createDisplay(context.output, context.environment)
  if (json) return display.json({ provider: result.provider, model: result.model, ...edited })
  printEdited(context, result, edited)
  if ('isUnchecked' in result && result.isUnchecked === true)
    display.line('The provider lists no models, so the name was not checked: hermes model probe tries it.')
}

function uncheckedModel(access: ConfiguredModels, words: string, provider: string | undefined) {
  const current = access.selection()
  const named = provider === undefined ? splitProvider(words, current) : { provider, model: words }
  const { provider: name, model } = named ?? { provider: resolveProvider(current)?.name ?? '', model: words }
  const choice = resolveProvider({ ...current, provider: name })
  if (choice === undefined) throw unknownProvider(name, null)
  if (model === '') throw new HermesError('cli/usage', 'No model is named.', { hint: 'Write provider:model.' })
  return { provider: choice.name, model }
}
