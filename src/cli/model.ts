/**
 * `hermes model`: which model answers, which ones can be chosen, and whether one of them works.
 */
import { createProvider } from '../agent/models/create-provider.ts'
import { resolveProvider } from '../agent/models/resolve-provider.ts'
import { type EditedModel, editModel } from '../flows/edit-model.ts'
import { type ProviderModels, splitProvider } from '../flows/model-directory.ts'
import { HermesError, isHermesError, messageOf } from '../lib/errors.ts'
import { createRedactor } from '../lib/redact.ts'
import { type CheckResult, note, ok, problem } from './checks/check-result.ts'
import { tryModel } from './checks/model.ts'
import type { CliContext } from './context.ts'
import { createDisplay, type Display, reportEmptyList, toSingleLine } from './display.ts'
import { exitCodes } from './exit-codes.ts'
import { type ModelAccess, openModels, requireFound, unknownProvider } from './model-access.ts'

interface JsonOption {
  readonly json: boolean
}

/** Shows the configured model. */
export async function modelShow(context: CliContext, { json }: JsonOption): Promise<void> {
  const access = await openModels(context)
  const { model } = access.selection()
  const choice = resolveProvider(access.selection())
  const display = createDisplay(context.output, context.environment)
  const provider = choice?.name ?? 'none'
  if (json)
    return display.json({ model, provider, baseUrl: choice?.baseUrl ?? '', key: access.keyOf(provider) ?? null })
  display.fields(describeCurrent(access))
}

export function describeCurrent(access: ModelAccess): [string, string][] {
  const { model } = access.selection()
  const choice = resolveProvider(access.selection())
  if (choice === undefined || choice.name === 'demo' || choice.name === 'none')
    return [['Model', choice?.name === 'demo' ? 'none: the offline demonstration answers' : 'none']]
  return [
    ['Model', model === '' ? 'none' : model],
    ['Provider', `${choice.name} at ${choice.baseUrl}`],
    ['Key', access.keyOf(choice.name) ?? 'none'],
  ]
}

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
      lists.map(({ failure, isFound, ...one }) => ({
        ...one,
        key: access.keyOf(one.provider) ?? null,
        ...(isFound === true ? { found: true } : {}),
        ...(failure === undefined ? {} : { failure: redact(messageOf(failure)) }),
      })),
    )
  if (lists.length === 0)
    return reportEmptyList(context, 'No provider has a key, and no model server runs here. `hermes model` adds one.')
  const { model } = access.selection()
  const current = resolveProvider(access.selection())?.name
  const limit = provider === undefined ? maxShown : Number.POSITIVE_INFINITY
  for (const [index, one] of lists.entries()) {
    if (index > 0) display.line()
    printList(display, { ...one, isCurrent: (id) => one.provider === current && id === model, limit, redact })
  }
}

async function listAll(access: ModelAccess): Promise<ListedModels[]> {
  const [names, servers] = await Promise.all([access.providers(), access.localServers()])
  const lists = await Promise.all(names.map((name) => access.list(name)))
  const found = servers.filter(({ name }) => !names.includes(name))
  return [
    ...lists.flatMap((one) => (one === undefined ? [] : [one])),
    ...found.map(({ name, ...server }): ListedModels => ({ provider: name, ...server, isFound: true })),
  ]
}

async function listOne(access: ModelAccess, provider: string): Promise<ListedModels> {
  const one = await access.list(provider)
  if (one !== undefined) return one
  const found = await access.find('', provider, access.selection())
  throw unknownProvider(provider, found.kind === 'unknown-provider' ? found.closest : null)
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
    ...(advice === undefined ? {} : { advice: redact(advice) }),
  }))
  const isOk = shown.every(({ state }) => state !== 'problem')
  if (!isOk) context.exitCode = exitCodes.failed
  const display = createDisplay(context.output, context.environment)
  const { baseUrl = '' } = resolveProvider(access.settingsFor(provider, model)) ?? {}
  if (json)
    return display.json({ ok: isOk, provider, model, baseUrl, key: access.keyOf(provider) ?? null, checks: shown })
  for (const check of shown) printCheck(display, check)
}

export function printCheck(display: Display, { state, subject, text, advice }: CheckResult): void {
  const [sign, tone] = ({ ok: ['✓', 'good'], note: ['!', 'warn'], problem: ['✗', 'bad'] } as const)[state]
  display.line(`${display.tone(tone, sign)} ${subject}: ${toSingleLine(text)}`)
  if (advice !== undefined) display.line(display.tone('dim', `  → ${toSingleLine(advice)}`))
}

/** `model` is '' where a provider is named without one. */
async function targetOf(access: ModelAccess, words: string | undefined): Promise<{ provider: string; model: string }> {
  const current = access.selection()
  if (words === undefined) return { provider: resolveProvider(current)?.name ?? '', model: current.model }
  const isProvider = resolveProvider({ ...current, provider: words }) !== undefined
  const found = await access.find(words, undefined, current)
  if (isProvider && found.kind !== 'found') return { provider: words, model: '' }
  // The checks say what is wrong.
  if (found.kind === 'unusable') return { provider: found.provider, model: words.slice(words.indexOf(':') + 1) }
  return requireFound(found)
}

/** Whether the key, the address and the model work. Never rejects because of the provider. */
export async function probeModel(access: ModelAccess, provider: string, model: string): Promise<CheckResult[]> {
  const settings = access.settingsFor(provider, model || 'any')
  const created = createProvider(settings)
  if ('problem' in created)
    return [{ ...problem('Settings', created.problem.message, created.problem.hint), code: created.problem.code }]
  const key = access.keyOf(provider) ?? 'no key'
  const address = ok('Provider', `${provider} at ${created.provider.baseUrl} with ${key}`)
  const list = await access.list(provider)
  const listed = listCheck(list)
  if (model === '') {
    const choose = note(
      'Model',
      `none is named; ${list?.models.length ?? 0} can be chosen`,
      'Name one: provider:model.',
    )
    return [address, listed, ...(listed.state === 'problem' ? [] : [choose])]
  }
  const isListed = list === undefined || list.failure !== undefined || list.models.some(({ id }) => id === model)
  const missing = note('Models', `${model} is not in the list of ${provider}`, '`hermes model list` shows the models.')
  const tried = await tryModel(created.provider, model, `${model} (${provider})`, key)
  return [address, ...(isListed ? [listed] : [missing]), tried]
}

function listCheck(list: ProviderModels | undefined): CheckResult {
  const failure = list?.failure
  if (failure === undefined) return ok('Models', `the provider lists ${list?.models.length ?? 0}`)
  const isRefused = 'kind' in failure && ['auth', 'billing', 'network', 'timeout'].includes(String(failure.kind))
  const hint = isHermesError(failure) ? failure.hint : 'Check the key and the address of the provider.'
  return isRefused
    ? problem('Models', failure.message, hint)
    : note('Models', `the provider gives no list: ${failure.message}`)
}

/** Writes the model into config.yaml. Throws `cli/not-found`, `cli/failed`, `config/…`. */
export async function modelSet(
  context: CliContext,
  words: string,
  { provider, unchecked, json }: JsonOption & { readonly provider?: string; readonly unchecked: boolean },
): Promise<void> {
  const access = await openModels(context)
  const found = unchecked
    ? uncheckedModel(access, words, provider)
    : requireFound(await access.find(words, provider, access.selection()))
  const edited = editModel(context.home, access.selection(), found)
  const display = createDisplay(context.output, context.environment)
  if (json) return display.json({ provider: found.provider, model: found.model, ...edited })
  printEdited(context, found, edited)
  if ('isUnchecked' in found && found.isUnchecked === true)
    display.line('The provider lists no models, so nobody has checked the name: hermes model probe tries it.')
}

function uncheckedModel(access: ModelAccess, words: string, provider: string | undefined) {
  const current = access.selection()
  const named = provider === undefined ? splitProvider(words, current) : { provider, model: words }
  const { provider: name, model } = named ?? { provider: resolveProvider(current)?.name ?? '', model: words }
  const choice = resolveProvider({ ...current, provider: name })
  if (choice === undefined) throw unknownProvider(name, null)
  if (model === '') throw new HermesError('cli/usage', 'No model is named.', { hint: 'Write provider:model.' })
  return { provider: choice.name, model }
}

export function printEdited(
  { output, home }: CliContext,
  { provider, model }: { readonly provider: string; readonly model: string },
  { movedTo }: EditedModel,
): void {
  output.write(`The model is ${toSingleLine(model)} of ${toSingleLine(provider)} now (${home.configFile}).\n`)
  if (movedTo !== undefined)
    output.write(`The address and the key of the former provider are in \`${movedTo}\` of config.yaml.\n`)
  output.write('A running gateway uses it from the next message on.\n')
}
