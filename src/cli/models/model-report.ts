/**
 * What `hermes model` and `hermes setup` print about a model, and how they try it.
 */
import { createProvider } from '../../agent/models/create-provider.ts'
import { resolveProvider } from '../../agent/models/resolve-provider.ts'
import type { EditedModel } from '../../flows/models/edit-model.ts'
import type { ProviderModels } from '../../flows/models/model-directory.ts'
import { isHermesError } from '../../lib/errors.ts'
import { toSingleLine } from '../../lib/visible-text.ts'
import { type CheckResult, note, ok, problem } from '../checks/check-result.ts'
import { tryModel } from '../checks/model.ts'
import type { CliContext, JsonOption } from '../kit/context.ts'
import { createDisplay, type Display } from '../kit/display.ts'
import { type ConfiguredModels, openModels } from './model-access.ts'

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

export function describeCurrent(access: ConfiguredModels): [string, string][] {
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

export function printCheck(display: Display, { state, subject, text, advice }: CheckResult): void {
  const [sign, tone] = ({ ok: ['✓', 'good'], note: ['!', 'warn'], problem: ['✗', 'bad'] } as const)[state]
  display.line(`${display.tone(tone, sign)} ${subject}: ${toSingleLine(text)}`)
  if (advice !== undefined) display.line(display.tone('dim', `  → ${toSingleLine(advice)}`))
}

/** Whether the key, the address and the model work. Never rejects because of the provider. */
export async function probeModel(access: ConfiguredModels, provider: string, model: string): Promise<CheckResult[]> {
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
