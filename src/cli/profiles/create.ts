/**
 * `hermes profile create`: a new home below the root home, empty or with the settings of another profile.
 */
import { renameSync, rmSync, statSync } from 'node:fs'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { catalogue } from '../../agent/models/catalogue.ts'
import { gatewayVariables } from '../../app/config.ts'
import { removeVariables } from '../../config/edit-dotenv.ts'
import { readEnvironment } from '../../config/environment.ts'
import { pathOf } from '../../config/overrides.ts'
import { isSecretName } from '../../config/secrets.ts'
import { removeFromAllowLists } from '../../flows/access/allow-list-files.ts'
import { HermesError, isHermesError, messageOf } from '../../lib/errors.ts'
import { ensureDirectory, readTextIfExists, writeFileAtomic } from '../../lib/files.ts'
import { createHomeLayout, type HomeLayout, prepareHome } from '../../lib/home.ts'
import { type ProfileFacts, writeProfileFacts } from '../../lib/profile-facts.ts'
import { defaultProfile, profileHome } from '../../lib/profiles.ts'
import { toSingleLine } from '../../lib/visible-text.ts'
import { editYamlValues } from '../../lib/yaml-edit.ts'
import type { PairedPerson } from '../../pairing/pairing.ts'
import type { InstalledPlatform } from '../../platforms/registry.ts'
import type { CliContext } from '../kit/context.ts'
import { assertProfileName } from '../kit/profile-selection.ts'
import { readSettings } from '../kit/settings.ts'
import { readPairingList } from '../shared/access-report.ts'
import { findProfile, isTaken, listProfileNames } from './profile-homes.ts'

export interface ProfileCreateOptions {
  readonly clone: boolean
  readonly cloneFrom?: string | undefined
}

/** Throws `cli/usage` for an invalid name or one in use, `cli/not-found` for the profile to copy, `home/unusable`. */
export async function profileCreate(context: CliContext, name: string, options: ProfileCreateOptions): Promise<void> {
  const { rootHome, output } = context
  assertProfileName(name)
  const home = createHomeLayout(profileHome(rootHome, name))
  if (name === defaultProfile || isTaken(home.root))
    throw new HermesError('cli/usage', `The profile ${name} already exists (${home.root}).`)
  const clonedFrom = options.cloneFrom ?? (options.clone ? context.profile : '')
  const source = clonedFrom === '' ? undefined : findProfile(rootHome, clonedFrom)
  const files =
    source === undefined
      ? { config: '', left: [], paired: [] }
      : await copiedFiles({ ...context, home: source }, source)
  const port = await findFreePort(await usedPorts(context))
  const { platforms } = (await readSettings(context)).catalogue
  writeHome(
    home,
    { env: emptyEnv(platforms), ...files, config: setPort(files.config, port) },
    { createdAt: new Date().toISOString(), clonedFrom, sessionNamespace: name },
  )
  output.write(`Created the profile ${name} in ${home.root}, on port ${port}.\n`)
  if (files.left.length > 0) {
    output.write(`Not copied from ${clonedFrom}, because each profile needs its own: ${files.left.join(', ')}.\n`)
  }
  if (files.paired.length > 0) {
    const people = files.paired.map(({ platform, userId }) => `${toSingleLine(userId)} (${platform})`)
    output.write(`Not copied, because an approval is valid in one profile: the access of ${people.join(', ')}.\n`)
  }
  output.write(`Start it: hermes -p ${name} gateway run\nUse it by default: hermes profile use ${name}\n`)
}

interface ProfileFiles {
  readonly config: string
  readonly env?: string | undefined
  readonly soul?: string | undefined
  /** Keys and variables that were not copied. */
  readonly left: readonly string[]
  /** People who have access by an approval. On an allow list without it, they could be owners. */
  readonly paired: readonly PairedPerson[]
}

/** Two profiles with the token of one bot would take the messages from each other. */
async function copiedFiles(context: CliContext, source: HomeLayout): Promise<ProfileFiles> {
  const { approved: paired, damaged } = readPairingList({ home: source })
  if (damaged.length > 0) {
    throw new HermesError('pairing/files-unusable', `${source.root}: ${damaged.join(', ')} is damaged.`, {
      hint: 'It is not known who of the allow lists was approved. Check who has access, delete the file, and try again.',
    })
  }
  const { platforms } = (await readSettings(context)).catalogue
  const isOwn = (path: readonly string[]) => isOwnSetting(path, platforms)
  const { text: config, removed } = edit(source.configFile, (text) =>
    editYamlValues(text, { remove: (path) => isOwn(path) }),
  )
  const references = removed.flatMap(({ value }) =>
    typeof value === 'string' ? [...value.matchAll(/\$\{(\w+)\}/g)].map(([, variable = '']) => variable) : [],
  )
  const variables = gatewayVariables(platforms)
    .filter((binding) => isOwn(pathOf(binding)))
    .map(({ variable }) => variable)
  const ownVariables = new Set([...variables, ...references])
  const env = readTextIfExists(source.envFile)
  const withoutOwn = env === undefined ? undefined : removeVariables(env, (name) => ownVariables.has(name))
  const soul = readTextIfExists(source.soulFile)
  return {
    config,
    ...(withoutOwn === undefined ? {} : { env: withoutOwn.text }),
    soul,
    paired,
    left: [
      ...removed.map(({ path }) => path.join('.')),
      ...(withoutOwn?.removed ?? []).map((variable) => `${variable} (.env)`),
    ],
  }
}

function edit<Result>(file: string, change: (text: string) => Result): Result {
  try {
    return change(readTextIfExists(file) ?? '')
  } catch (error) {
    throw new HermesError('config/unreadable', `${file}: ${messageOf(error)}`, { cause: error })
  }
}

/** A secret of a platform, in any of the places where the configuration accepts it; the address and the token of HTTP. */
function isOwnSetting(path: readonly string[], platforms: readonly InstalledPlatform[]): boolean {
  const [first = '', ...others] = path[0] === 'gateway' ? path.slice(1) : path
  if (first === 'http') return others.length === 1 && ['port', 'token'].includes(others[0] ?? '')
  const inPlatforms = first === 'platforms'
  const name = inPlatforms ? others[0] : first
  const key = path.at(-1) ?? ''
  const platform = platforms.find((candidate) => candidate.name === name)
  if (platform === undefined) return inPlatforms && others.length > 1 && isSecretName(key)
  const isInside = path.length > (inPlatforms ? 2 : 1)
  return isInside && (isSecretName(key) || platform.options.some((option) => option.secret && option.key === key))
}

const vendors = ['openai', 'anthropic', 'openrouter'] as const

/** Says what belongs into `.env`, with the names of the usual variables. */
function emptyEnv(platforms: readonly InstalledPlatform[]): string {
  const names = [
    ...vendors.flatMap((vendor) => catalogue[vendor].keyVariables.slice(0, 1)),
    ...platforms.flatMap(({ environment }) => environment.map(({ variable }) => variable).filter(isSecretName)),
  ]
  return [
    '# The keys and tokens of this profile, one NAME=value on a line. Remove the # before what you use.',
    '# hermes model and hermes setup write here, too, and hermes doctor says what is missing.',
    ...[...new Set(names)].map((name) => `#${name}=`),
    '',
  ].join('\n')
}

function setPort(config: string, port: number): string {
  return editYamlValues(config, { set: [{ path: ['http', 'port'], value: port }] }).text
}

/** The home appears with all its files, or not at all. */
function writeHome(home: HomeLayout, { config, env, soul, paired }: ProfileFiles, facts: ProfileFacts): void {
  ensureDirectory(dirname(home.root))
  const unfinished = createHomeLayout(join(dirname(home.root), `.new-${process.pid}`))
  try {
    prepareHome(unfinished)
    writeFileAtomic(unfinished.configFile, config)
    if (env !== undefined) writeFileAtomic(unfinished.envFile, env)
    if (soul !== undefined) writeFileAtomic(unfinished.soulFile, soul)
    const files = { home: unfinished, environment: () => readEnvironment(unfinished.envFile, {}) }
    for (const { platform, userId } of paired) removeFromAllowLists(files, platform, userId, true)
    writeProfileFacts(unfinished, facts)
    renameSync(unfinished.root, home.root)
  } catch (error) {
    rmSync(unfinished.root, { recursive: true, force: true })
    if (isHermesError(error, 'config/unreadable')) throw error
    throw new HermesError('home/unusable', `${home.root}: ${messageOf(error)}`, { cause: error })
  }
}

/** The ports of all profiles, running or not. */
async function usedPorts(context: CliContext): Promise<ReadonlySet<number>> {
  const ports = new Set<number>()
  for (const name of listProfileNames(context.rootHome)) {
    const home = createHomeLayout(profileHome(context.rootHome, name))
    if (statSync(home.root, { throwIfNoEntry: false }) === undefined) continue
    const { config } = await readSettings({ ...context, home })
    ports.add(config.current().http.port)
  }
  return ports
}

const firstPort = 8_643
const lastPort = 8_842

async function findFreePort(used: ReadonlySet<number>): Promise<number> {
  for (let port = firstPort; port <= lastPort; port++) if (!used.has(port) && (await isFree(port))) return port
  throw new HermesError('http/port-in-use', `All ports from ${firstPort} to ${lastPort} are in use.`)
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}
