/**
 * Connects a model from the page: offers what can be chosen, tries it, and stores it as `hermes setup` does. Loaded by its routes.
 */
import { askOnce } from '../../agent/models/ask-once.ts'
import { catalogue, findProvider, type ProviderEntry } from '../../agent/models/catalogue.ts'
import { createProvider, type ProviderSettings } from '../../agent/models/create-provider.ts'
import { findLocalServers } from '../../agent/models/local-servers.ts'
import { ModelError } from '../../agent/models/provider.ts'
import { type ProviderChoice, resolveProvider } from '../../agent/models/resolve-provider.ts'
import { editConfigValues, readConfigTree } from '../../config/edit-config.ts'
import { setVariable } from '../../config/edit-dotenv.ts'
import { HermesError } from '../../lib/errors.ts'
import { ensureDirectory } from '../../lib/files.ts'
import type { HomeLayout } from '../../lib/home.ts'
import type { AgentModels } from './agent-models.ts'
import { editModel } from './edit-model.ts'
import { createModelDirectory } from './model-directory.ts'

type Models = Pick<AgentModels, 'selection' | 'withKey'>

export interface OfferedProvider {
  readonly name: string
  /** For people. */
  readonly label: string
  /** It has a key, or needs none. */
  readonly isReady: boolean
  /** It runs on this machine. */
  readonly isLocal: boolean
}

/** What a person has chosen. */
export interface ChosenConnection {
  /** A name of the offers; undefined for a server by its address. */
  readonly provider?: string | undefined
  readonly model: string
  /** A key that is not stored yet. */
  readonly key?: string | undefined
  /** The address of another server: `http://127.0.0.1:8080/v1`. */
  readonly baseUrl?: string | undefined
}

/** The servers that run on this machine, the providers with a key, and all vendors. */
export async function offerProviders(models: Models): Promise<readonly OfferedProvider[]> {
  const selection = models.selection()
  const { providers = {}, variables } = selection
  const [ready, servers] = await Promise.all([
    createModelDirectory(models).providers(),
    findLocalServers({ providers, variables }),
  ])
  const vendors: readonly (readonly [string, ProviderEntry])[] = Object.entries(catalogue)
  const others = vendors.filter(([, { isLocal, sharesKey }]) => isLocal !== true && sharesKey !== true)
  const local = servers.map(({ name }) => name)
  const names = new Set([...local, ...ready, ...others.map(([name]) => name)])
  return [...names].map((name) => ({
    name,
    label: findProvider(name)?.entry.label ?? name,
    isReady: ready.includes(name) || local.includes(name),
    isLocal: local.includes(name),
  }))
}

/** The models of a provider with the key that a person has typed. Rejects as `tryConnection`. */
export async function listConnectionModels(models: Models, chosen: ChosenConnection): Promise<readonly string[]> {
  const { settings, choice } = await connectionOf(models, { ...chosen, model: chosen.model || 'any' })
  const listed = await createModelDirectory({ selection: () => settings, withKey: models.withKey }).list(choice.name)
  if (listed?.failure !== undefined) throw explained(listed.failure, chosen)
  return (listed?.models ?? []).map(({ id }) => id).filter((id) => id !== 'any')
}

/**
 * Asks the model to greet the person, and resolves with its words. Rejects `provider/…` when the provider does not answer, and
 * `http/bad-request` when there is no such provider.
 */
export async function tryConnection(models: Models, chosen: ChosenConnection, signal: AbortSignal): Promise<string> {
  const { settings } = await connectionOf(models, chosen)
  const created = createProvider(settings)
  if ('problem' in created) throw created.problem
  const limit = AbortSignal.any([signal, AbortSignal.timeout(answerTimeoutMs)])
  try {
    return await askOnce(created.provider, created.model, 'Greet me in one short sentence.', maxAnswerTokens, limit)
  } catch (error) {
    if (signal.aborted) throw error
    throw explained(error, chosen)
  }
}

/** A model that thinks first, and is loaded first, needs longer than the check of a key. */
const answerTimeoutMs = 90_000
const maxAnswerTokens = 1_000

/** Writes the model into config.yaml and its key into .env. Rejects `config/…` and `http/bad-request`. */
export async function storeConnection(
  models: Models,
  home: Pick<HomeLayout, 'root' | 'configFile' | 'envFile'>,
  chosen: ChosenConnection,
): Promise<{ readonly provider: string; readonly model: string }> {
  const { settings, choice, server } = await connectionOf(models, chosen)
  const { key = '', model } = chosen
  const current = models.selection()
  // A file that cannot be edited is an error before anything is written.
  readConfigTree(home)
  const directory = createModelDirectory({ selection: () => settings, withKey: models.withKey })
  const match = await directory.find(model, choice.name, settings)
  ensureDirectory(home.root)
  if (key !== '') setVariable(home.envFile, choice.keyVariable, key)
  if (server !== undefined)
    editConfigValues(home, {
      set: Object.entries(server).map(([field, value]) => ({ path: ['providers', choice.name, field], value })),
      remove: [],
    })
  const contextLength = match.kind === 'found' ? match.contextLength : undefined
  // What was tried was asked without the address and the key that stand beside the model.
  const leavesServer = current.baseUrl !== '' || current.apiKey !== ''
  editModel(home, current, { provider: choice.name, model, contextLength, leavesServer })
  return { provider: choice.name, model }
}

interface Connection {
  readonly settings: ProviderSettings
  readonly choice: ProviderChoice
  /** The entry of `providers` that is to be written. */
  readonly server?: Readonly<Record<string, string>>
}

/** The settings as they will be once they are stored. Throws `http/bad-request`. */
async function connectionOf(
  models: Models,
  { provider, model, key = '', baseUrl = '' }: ChosenConnection,
): Promise<Connection> {
  const main = models.selection()
  const servers = main.providers ?? {}
  const base = { ...main, model, baseUrl: '', apiKey: '', apiMode: undefined }
  const known = provider ?? (key === '' ? nameAt(servers, baseUrl) : undefined)
  if (known === undefined) {
    if (!isAddress(baseUrl))
      throw new HermesError(
        'http/bad-request',
        'The address must be http or https, without a name, a password and a variable in it.',
      )
    const name = newServerName(main)
    const variable = keyVariableOf(name)
    const server = { base_url: baseUrl, ...(key !== '' && { key_env: variable }) }
    const providers = { ...servers, [name]: server }
    const settings = { ...base, provider: name, providers, variables: withKey(main.variables, variable, key) }
    return { settings, choice: chosenProvider(settings), server }
  }
  const choice = chosenProvider({ ...base, provider: known })
  if (choice.server !== undefined && key !== '')
    throw new HermesError(
      'http/bad-request',
      `The key of ${choice.name} is changed in config.yaml, where the server is.`,
    )
  const variables = withKey(main.variables, choice.keyVariable, key)
  const settings = await models.withKey({ ...base, provider: known, variables })
  return { settings, choice }
}

function chosenProvider(settings: ProviderSettings): ProviderChoice {
  const choice = resolveProvider(settings)
  if (choice === undefined || choice.name === 'demo' || choice.name === 'none')
    throw new HermesError('http/bad-request', `There is no provider ${JSON.stringify(settings.provider)}.`)
  return choice
}

function withKey(variables: ProviderSettings['variables'], name: string, key: string): ProviderSettings['variables'] {
  return key === '' ? variables : { ...variables, [name]: key }
}

/** A variable would be replaced in config.yaml. */
function isAddress(text: string): boolean {
  const url = URL.parse(text)
  return (
    url !== null && /^https?:$/.test(url.protocol) && url.username === '' && url.password === '' && !text.includes('${')
  )
}

/** The server that has this address already. */
function nameAt(servers: NonNullable<ProviderSettings['providers']>, baseUrl: string): string | undefined {
  const plain = (url = '') => url.replace(/\/+$/, '')
  return Object.entries(servers).find(([, { base_url }]) => plain(base_url) === plain(baseUrl) && baseUrl !== '')?.[0]
}

/** Neither the name nor the variable of its key is used for anything else. */
function newServerName({ providers = {}, variables }: ProviderSettings): string {
  const names = ['server', ...Array.from({ length: 100 }, (_, index) => `server-${index + 2}`)]
  const isFree = (name: string) =>
    providers[name] === undefined && findProvider(name) === undefined && variables[keyVariableOf(name)] === undefined
  return names.find(isFree) ?? `server-${names.length + 1}`
}

function keyVariableOf(name: string): string {
  return `${name.toUpperCase().replace(/\W/g, '_')}_API_KEY`
}

/** A provider may quote the key that it refuses. */
function explained(error: unknown, { key = '' }: ChosenConnection): unknown {
  if (!(error instanceof ModelError)) return error
  const text = key === '' ? error.message : error.message.replaceAll(key, '…')
  const { hint } = new HermesError(`provider/${error.kind}`)
  const advice = error.kind === 'network' ? 'Check the address and the network, then try again.' : hint
  return new HermesError(`provider/${error.kind}`, text.endsWith('.') ? text : `${text}.`, { hint: advice })
}
