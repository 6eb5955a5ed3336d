/**
 * Asks for the settings of a memory provider, as the provider describes them (`get_config_schema` of Hermes). Secrets go to
 * `.env`, everything else to the provider.
 */
import { pluginDirectories } from '../../app/plugin-directories.ts'
import { createPythonLoader } from '../../app/python-plugins.ts'
import { setVariable } from '../../config/edit-dotenv.ts'
import { HermesError, messageOf } from '../../lib/errors.ts'
import { ensureDirectory } from '../../lib/files.ts'
import { isRecord } from '../../lib/json.ts'
import { silentLog } from '../../lib/log.ts'
import { withTimeout } from '../../lib/timers.ts'
import { toSingleLine } from '../../lib/visible-text.ts'
import type { Registration } from '../../middleware/contract.ts'
import type { PluginServices } from '../../plugins/context.ts'
import { createPluginLoader, type PluginLoader } from '../../plugins/loader.ts'
import type { MemoryConfigField, MemoryProvider } from '../../plugins/memory-provider.ts'
import type { CliContext } from '../kit/context.ts'
import { openQuestions } from '../kit/questions.ts'
import { readSettings } from '../kit/settings.ts'

/** With those of `.env`. */
type Variables = Readonly<Record<string, string>>

/** A provider reads files and answers; it asks no network. */
const maxCallMs = 30_000

/** Throws `cli/failed` when the plugin cannot be loaded, and `config/…`. */
export async function setUpProvider(context: CliContext, plugin: { id: string; name: string }): Promise<void> {
  const { loader, provider, environment } = await loadProvider(context, plugin)
  try {
    const fields = parseFields(await bounded(provider.getConfigSchema?.() ?? []))
    const answers = await askAll(context, fields, environment)
    await saveAnswers(context, provider, fields, answers)
  } catch (error) {
    if (error instanceof HermesError) throw error
    throw new HermesError('cli/failed', `The memory provider ${plugin.name} cannot be set up: ${messageOf(error)}`, {
      cause: error,
    })
  } finally {
    await loader.stop()
  }
}

async function loadProvider(
  context: CliContext,
  { id, name }: { readonly id: string; readonly name: string },
): Promise<{ readonly loader: PluginLoader; readonly provider: MemoryProvider; readonly environment: Variables }> {
  const { home } = context
  const { config } = await readSettings(context)
  const providers: MemoryProvider[] = []
  const { plugins, memory } = config.current()
  const loader = createPluginLoader({
    roots: pluginDirectories(home),
    // Only this plugin is loaded.
    settings: () => ({
      plugins: {
        ...plugins,
        enabled: [],
        disabled: plugins.disabled.filter((entry) => entry !== name && entry !== id),
      },
      memory: { ...memory, provider: name },
    }),
    environment: () => config.environment().values,
    services: inertServices(home.root, (provider) => providers.push(provider)),
    loadPython: createPythonLoader({ home, config, clock: Date.now, random: Math.random }),
    clock: Date.now,
    log: silentLog,
  })
  await loader.sync()
  const [provider] = providers
  if (provider !== undefined) return { loader, provider, environment: config.environment().values }
  const reason = loader.list().find((report) => report.id === id)?.reason ?? ''
  await loader.stop()
  throw new HermesError('cli/failed', `${id} registers no memory provider${reason === '' ? '' : `: ${reason}`}`)
}

/** Services without effects: the plugin is loaded to be asked, not to be used. */
function inertServices(home: string, onProvider: (provider: MemoryProvider) => void): PluginServices {
  const inert = (name: string): Registration => ({ name, remove: () => true })
  const unavailable = async (): Promise<never> => {
    throw new HermesError('plugins/unloaded', '(no gateway runs)')
  }
  const named = {
    register: (_owner: string, { name }: { readonly name: string }) => inert(name),
    check: () => undefined,
  }
  return {
    home,
    middleware: {
      forPlugin: () => ({
        registerGuardrail: inert,
        registerIntercept: inert,
        registerSanitizer: inert,
        registerSubscriber: inert,
        registerMiddleware: inert,
      }),
    },
    hooks: { register: (_owner, name) => inert(name), report: () => [], notificationsBegun: () => undefined },
    tools: named,
    skills: { register: (_owner, _directory, { name }) => inert(name) },
    commands: named,
    memory: {
      register(_owner, provider) {
        onProvider(provider)
        return inert(provider.name)
      },
    },
    environments: { register: (_owner, name) => inert(name) },
    sections: { register: (_owner, name) => inert(name) },
    daemons: { register: (_owner, name) => inert(name), stopped: async () => undefined },
    state: () => ({ get: unavailable, set: unavailable, delete: unavailable, keys: unavailable }),
    complete: unavailable,
    injectMessage: unavailable,
    dispatchTool: unavailable,
    callMcp: unavailable,
  }
}

async function bounded<Value>(value: Value | PromiseLike<Value>): Promise<Value> {
  const result = await withTimeout(Promise.resolve(value), maxCallMs)
  if (!result.done) throw new Error(`it did not answer within ${maxCallMs / 1_000} s`)
  return result.value
}

/** What is no field is left out. */
function parseFields(value: unknown): readonly MemoryConfigField[] {
  return (Array.isArray(value) ? value : []).flatMap((entry: unknown) => {
    if (!isRecord(entry) || typeof entry['key'] !== 'string') return []
    const text = (key: string) => (typeof entry[key] === 'string' ? { [key]: entry[key] } : {})
    return [
      {
        key: entry['key'],
        ...text('description'),
        ...text('url'),
        ...text('env_var'),
        ...text('type'),
        secret: entry['secret'] === true,
        required: entry['required'] === true,
        ...(entry['default'] === undefined || entry['default'] === null ? {} : { default: entry['default'] }),
        ...(Array.isArray(entry['choices']) ? { choices: entry['choices'] } : {}),
      },
    ]
  })
}

/** An empty answer keeps what is configured, or takes the default. Without a terminal nothing is asked. */
async function askAll(
  { input, output }: CliContext,
  fields: readonly MemoryConfigField[],
  environment: Variables,
): Promise<ReadonlyMap<string, string>> {
  const answers = new Map<string, string>()
  if (input.isTTY !== true || output.isTTY !== true) {
    for (const field of fields)
      if (field.required === true && field.secret === true && (environment[variableOf(field)] ?? '') === '')
        output.write(`${variableOf(field)} is needed: ${toSingleLine(field.description ?? field.key)}\n`)
    return answers
  }
  const questions = openQuestions(input, output)
  try {
    for (const field of fields) {
      const answer = await questions.ask(questionText(field), { isHidden: field.secret === true })
      if (answer !== '') answers.set(field.key, checkedAnswer(field, answer))
    }
  } finally {
    questions.close()
  }
  return answers
}

function questionText({ key, description = key, url, choices, default: initial, required }: MemoryConfigField): string {
  const about = [
    ...(choices === undefined ? [] : [choices.map(String).join(' | ')]),
    ...(initial === undefined ? (required === true ? ['required'] : []) : [`default ${String(initial)}`]),
    ...(url === undefined ? [] : [url]),
  ]
  return `${toSingleLine(`${description}${about.length === 0 ? '' : ` (${about.join('; ')})`}`)}: `
}

/** Throws `cli/failed`. */
function checkedAnswer({ key, choices }: MemoryConfigField, answer: string): string {
  if (choices === undefined || choices.map(String).includes(answer)) return answer
  throw new HermesError('cli/failed', `${key}: expected ${choices.map(String).join(' or ')}, found ${answer}`)
}

async function saveAnswers(
  { home, output }: CliContext,
  provider: MemoryProvider,
  fields: readonly MemoryConfigField[],
  answers: ReadonlyMap<string, string>,
): Promise<void> {
  const values: Record<string, unknown> = {}
  ensureDirectory(home.root)
  for (const field of fields) {
    const answer = answers.get(field.key)
    const isVariable = field.secret === true || (field.env_var !== undefined && provider.saveConfig === undefined)
    if (isVariable && answer !== undefined) {
      setVariable(home.envFile, variableOf(field), answer)
      output.write(`${variableOf(field)} is in ${home.envFile}.\n`)
    } else if (!isVariable && answer !== undefined) values[field.key] = answer
  }
  if (Object.keys(values).length > 0) await bounded(provider.saveConfig?.(values, home.root))
}

function variableOf({ key, env_var: variable }: MemoryConfigField): string {
  return variable ?? key.toUpperCase().replace(/\W/g, '_')
}
