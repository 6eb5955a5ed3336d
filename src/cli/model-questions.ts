/**
 * `hermes model` and `hermes setup` in a terminal: asks for the provider, its key and the model, tries them, and writes them into
 * config.yaml and .env.
 */
import { catalogue, findProvider, type ProviderEntry } from '../agent/models/catalogue.ts'
import type { LocalServer } from '../agent/models/local-servers.ts'
import { resolveProvider } from '../agent/models/resolve-provider.ts'
import { editConfigValues } from '../config/edit-config.ts'
import { setVariable } from '../config/edit-dotenv.ts'
import { editModel } from '../flows/models/edit-model.ts'
import { messageOf } from '../lib/errors.ts'
import { ensureDirectory } from '../lib/files.ts'
import { toSingleLine } from '../lib/visible-text.ts'
import type { YamlPath } from '../lib/yaml-edit.ts'
import type { CliContext, JsonOption } from './kit/context.ts'
import { createDisplay, type Display } from './kit/display.ts'
import { confirm, openQuestions, type Questions } from './kit/questions.ts'
import { type ConfiguredModels, openModels } from './models/model-access.ts'
import { describeCurrent, modelShow, printCheck, printEdited, probeModel } from './models/model-report.ts'

/** Shows the model where no terminal can be asked. Throws `cli/failed` when the input ends, `config/…`. */
export async function modelChoose(context: CliContext, options: JsonOption): Promise<void> {
  if (options.json || context.input.isTTY !== true || context.output.isTTY !== true)
    return await modelShow(context, options)
  await chooseModel(context)
}

/** Resolves with whether a model was chosen. */
export async function chooseModel(context: CliContext): Promise<boolean> {
  const display = createDisplay(context.output, context.environment)
  const questions = openQuestions(context.input, context.output)
  try {
    const access = await openModels(context)
    display.fields(describeCurrent(access))
    display.line()
    const provider = await askProvider({ access, display, questions, context })
    if (provider === undefined) return nothingChanged(display)
    // The key or the server may be new.
    const opened = await openModels(context)
    const parts = { access: opened, display, questions, context }
    const model = await askModel(parts, provider)
    if (model === undefined) return nothingChanged(display)
    const checks = await probeModel(opened, provider, model)
    for (const check of checks) printCheck(display, check)
    const isUsable = checks.every(({ state }) => state !== 'problem')
    if (!isUsable && !(await confirm(questions, 'Use it nevertheless?'))) return nothingChanged(display)
    const match = await opened.find(model, provider, opened.selection())
    const contextLength = match.kind === 'found' ? match.contextLength : undefined
    const edited = editModel(context.home, opened.selection(), { provider, model, contextLength })
    printEdited(context, { provider, model }, edited)
    return true
  } finally {
    questions.close()
  }
}

function nothingChanged(display: Display): false {
  display.line('The model was not changed.')
  return false
}

interface Asking {
  readonly access: ConfiguredModels
  readonly display: Display
  readonly questions: Questions
  readonly context: CliContext
}

interface OfferedProvider {
  readonly name: string
  readonly label: string
  readonly about: string
}

/** The name of a provider that can be asked; undefined when nothing is to change. */
async function askProvider(asking: Asking): Promise<string | undefined> {
  const { access, display, questions } = asking
  const offered = await offeredProviders(access)
  for (const [index, { name, label, about }] of offered.entries())
    display.line(`${String(index + 1).padStart(3)}  ${name.padEnd(14)} ${label}${about === '' ? '' : `, ${about}`}`)
  display.line()
  for (;;) {
    const answer = await questions.ask('Provider (number or name; empty: leave): ')
    if (answer === '') return undefined
    const chosen = offered[Number(answer) - 1]?.name ?? findProvider(answer)?.name ?? answer
    if (chosen === 'custom') return await askServer(asking)
    if (resolveProvider({ ...access.selection(), provider: chosen }) === undefined) {
      display.line(`There is no provider ${toSingleLine(answer)}.`)
      continue
    }
    return (await askKey(asking, chosen)) ? chosen : undefined
  }
}

/** Returns the providers with a key, local servers that run, all other vendors, and a server by its address. */
async function offeredProviders(access: ConfiguredModels): Promise<OfferedProvider[]> {
  const [ready, servers] = await Promise.all([access.providers(), access.localServers()])
  const vendors: readonly (readonly [string, ProviderEntry])[] = Object.entries(catalogue)
  const running = (name: string): LocalServer | undefined => servers.find((server) => server.name === name)
  const toOffer = (name: string): OfferedProvider => {
    const server = running(name)
    const key = access.keyOf(name)
    const about =
      server === undefined
        ? key === undefined
          ? ''
          : `key in ${key}`
        : `runs here with ${server.models.length} models`
    return { name, label: findProvider(name)?.entry.label ?? 'server of config.yaml', about }
  }
  const others = vendors
    .filter(([, { isLocal, sharesKey }]) => isLocal !== true && sharesKey !== true)
    .map(([name]) => name)
  const names = [...new Set([...ready, ...servers.map(({ name }) => name), ...others])]
  return [...names.map(toOffer), { name: 'custom', label: 'another server', about: 'by its address' }]
}

/** False when no key was given. Writes it to .env. */
async function askKey({ access, display, questions, context }: Asking, provider: string): Promise<boolean> {
  const choice = resolveProvider(access.settingsFor(provider, 'any'))
  if (choice === undefined || choice.keys.length > 0 || !choice.isOfficial) return true
  const key = await questions.ask(`Key of ${provider} for ${choice.keyVariable} (not shown; empty: leave): `, {
    isHidden: true,
  })
  if (key === '') return false
  if (!/^[\x21-\x7e]{8,20000}$/.test(key)) {
    display.line('This is not a key: a key is one line without spaces.')
    return false
  }
  ensureDirectory(context.home.root)
  setVariable(context.home.envFile, choice.keyVariable, key)
  display.line(`${choice.keyVariable} is in ${context.home.envFile}.`)
  return true
}

/** Names a server in `providers`, with its key in .env. */
async function askServer({ display, questions, context }: Asking): Promise<string | undefined> {
  const address = await questions.ask('Address of the API, such as http://127.0.0.1:8080/v1 (empty: leave): ')
  if (address === '') return undefined
  const url = URL.parse(address)
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '') {
    display.line('This is not an http or https address without a password.')
    return undefined
  }
  const name = await questions.ask('A name for the server (empty: server): ')
  const provider = name === '' ? 'server' : name.toLowerCase()
  if (!/^[a-z0-9][\w.-]{0,63}$/.test(provider) || findProvider(provider) !== undefined) {
    display.line('A name has letters, digits and - only, and is not the name of another provider.')
    return undefined
  }
  const key = await questions.ask('Key (not shown; empty: none): ', { isHidden: true })
  const variable = `${provider.toUpperCase().replace(/\W/g, '_')}_API_KEY`
  if (key !== '') {
    ensureDirectory(context.home.root)
    setVariable(context.home.envFile, variable, key)
  }
  const values = { base_url: address, ...(key === '' ? {} : { key_env: variable }) }
  const set = Object.entries(values).map(([field, value]): { path: YamlPath; value: string } => {
    return { path: ['providers', provider, field], value }
  })
  editConfigValues(context.home, { set, remove: [] })
  display.line(`The server is \`providers.${provider}\` in ${context.home.configFile}.`)
  return provider
}

const maxShown = 20

/** By number, by name, or by a part of the name. */
async function askModel({ access, display, questions }: Asking, provider: string): Promise<string | undefined> {
  const list = await access.list(provider)
  if (list?.failure !== undefined) display.line(`! ${toSingleLine(messageOf(list.failure))}`)
  const all = (list?.models ?? []).map(({ id }) => id)
  let shown = all
  for (;;) {
    for (const [index, id] of shown.slice(0, maxShown).entries())
      display.line(`${String(index + 1).padStart(3)}  ${toSingleLine(id)}`)
    if (shown.length > maxShown) display.line(`     … ${shown.length - maxShown} more: type a part of a name`)
    const answer = await questions.ask(
      `Model of ${provider} (${all.length === 0 ? 'name' : 'number or name'}; empty: leave): `,
    )
    if (answer === '') return undefined
    const chosen = shown[Number(answer) - 1] ?? all.find((id) => id.toLowerCase() === answer.toLowerCase())
    if (chosen !== undefined) return chosen
    const fitting = all.filter((id) => id.toLowerCase().includes(answer.toLowerCase()))
    if (fitting.length === 1 && fitting[0] !== undefined) return fitting[0]
    if (fitting.length > 0) shown = fitting
    else if (
      all.length === 0 ||
      (await confirm(questions, `${provider} does not list ${answer}. Use it nevertheless?`))
    )
      return answer
    else shown = all
  }
}
