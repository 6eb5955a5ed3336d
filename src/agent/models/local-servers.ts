/**
 * Finds the model servers that run on this machine: Ollama, LM Studio, vLLM. Loaded by `hermes setup`, `hermes model` and
 * `hermes doctor`.
 */
import { catalogue, type ProviderEntry } from './catalogue.ts'
import { type ListedModel, listModels } from './list-models.ts'
import { type NamedServer, type ProviderChoice, resolveProvider } from './resolve-provider.ts'
import type { FetchFunction } from './transport.ts'

export interface LocalServer {
  /** A name of the catalogue: `ollama`. */
  readonly name: string
  readonly label: string
  readonly baseUrl: string
  readonly models: readonly ListedModel[]
}

export interface LocalServerOptions {
  readonly providers: Readonly<Record<string, NamedServer>>
  readonly variables: Readonly<Record<string, string>>
  /** For each of them, ms; all are asked at once. */
  readonly timeoutMs?: number
  readonly fetch?: FetchFunction
}

/** A server on this machine answers at once; a port where something else listens must not delay a command. */
const defaultTimeoutMs = 1_000

/** Returns the local servers that answer with a list of models. Never rejects. */
export async function findLocalServers(options: LocalServerOptions): Promise<readonly LocalServer[]> {
  const { providers, variables, timeoutMs = defaultTimeoutMs, fetch } = options
  const known: readonly (readonly [string, ProviderEntry])[] = Object.entries(catalogue)
  const asked = known.map(async ([name, { label, isLocal }]): Promise<LocalServer[]> => {
    const choice = resolveProvider({ provider: name, model: '', baseUrl: '', apiKey: '', providers, variables })
    if (isLocal !== true || choice === undefined || !isOnThisMachine(choice)) return []
    const apiKey = choice.keys[0]?.secret ?? ''
    try {
      const models = await listModels(choice, { apiKey, timeoutMs, fetch })
      return [{ name, label, baseUrl: choice.baseUrl, models }]
    } catch {
      // Nothing runs there, or something else.
      return []
    }
  })
  return (await Promise.all(asked)).flat()
}

function isOnThisMachine({ baseUrl }: ProviderChoice): boolean {
  const host = URL.parse(baseUrl)?.hostname ?? ''
  return /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/i.test(host)
}
