/**
 * `hermes profile list`, `use`, `show`, `rename` and `delete`. They work on the root home, whichever profile is selected.
 */
import { renameSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline/promises'
import { HermesError, isHermesError, messageOf } from '../../lib/errors.ts'
import { ensureDirectory, writeFileAtomic } from '../../lib/files.ts'
import { createHomeLayout, type HomeLayout } from '../../lib/home.ts'
import { localOrigin } from '../../lib/local-origin.ts'
import { readProfileFacts } from '../../lib/profile-facts.ts'
import { defaultProfile, profileHome } from '../../lib/profiles.ts'
import { platformAccounts } from '../../platforms/accounts.ts'
import { lockHome } from '../../store/sqlite/lock.ts'
import type { CliContext, JsonOption } from '../kit/context.ts'
import { createDisplay } from '../kit/display.ts'
import { assertProfileName, readStickyProfile } from '../kit/profile-selection.ts'
import { readSettings } from '../kit/settings.ts'
import { findProfile, isTaken, listProfileNames, runningDaemonOf } from './profile-homes.ts'

export async function profileList(context: CliContext, { json }: JsonOption): Promise<void> {
  const { rootHome } = context
  const sticky = readStickyProfile(rootHome)
  const listed = listProfileNames(rootHome).map((name) => {
    const home = createHomeLayout(profileHome(rootHome, name))
    const daemon = runningDaemonOf(home)
    return { name, default: name === sticky, selected: name === context.profile, home: home.root, daemon }
  })
  const display = createDisplay(context.output, context.environment)
  if (json) return display.json(listed.map(({ daemon, ...rest }) => ({ ...rest, daemon: daemon ?? null })))
  display.table(
    ['PROFILE', 'USED', 'GATEWAY', 'HOME'],
    listed.map(({ name, default: isDefault, home, daemon }) => [
      name,
      isDefault ? 'by default' : '',
      daemon === undefined ? 'stopped' : { text: `running, process ${daemon.pid}`, tone: 'good' },
      home,
    ]),
  )
}

/** Throws `cli/usage`, `cli/not-found`, `home/unusable`. */
export async function profileUse(context: CliContext, name: string): Promise<void> {
  const { rootHome, output } = context
  findProfile(rootHome, name)
  writeStickyProfile(rootHome, name)
  output.write(`Commands without --profile use the profile ${name} from now on.\n`)
  if (context.profile !== name && context.profile !== defaultProfile)
    context.errors.write(
      `hermes: this command itself used the profile ${context.profile}, which --profile, HERMES_PROFILE or HERMES_HOME select before it.\n`,
    )
}

export async function profileShow(context: CliContext, name: string | undefined, { json }: JsonOption): Promise<void> {
  const profile = name ?? context.profile
  const home = findProfile(context.rootHome, profile)
  const facts = readProfileFacts(home)
  const { config, catalogue } = await readSettings({
    ...context,
    home,
    platformDirectories: directoriesOf(context, home),
  })
  const { model, provider, http, platforms, gateway, roles } = config.current()
  const accounts = platformAccounts(catalogue.platforms, {
    platforms,
    gateway,
    roles,
    unusable: config.unusableSettings(),
  })
  const enabled = accounts
    .filter(({ blocked }) => blocked === undefined)
    .map(({ platform, account }) => (account === 'default' ? platform.name : `${platform.name}/${account}`))
  const shown = {
    name: profile,
    default: profile === readStickyProfile(context.rootHome),
    home: home.root,
    daemon: runningDaemonOf(home) ?? null,
    model,
    provider,
    url: localOrigin(http.host, http.port),
    platforms: enabled,
    problems: config.state().problems.length,
    created_at: facts.createdAt,
    cloned_from: facts.clonedFrom,
    session_namespace: facts.sessionNamespace,
  }
  const display = createDisplay(context.output, context.environment)
  if (json) return display.json(shown)
  display.fields([
    ['Profile', shown.default ? `${profile} (used by default)` : profile],
    ['Home', home.root],
    ['Gateway', shown.daemon === null ? 'stopped' : `running, process ${shown.daemon.pid}, ${shown.daemon.url}`],
    ['Model', model === '' ? 'none' : model],
    ['Address', shown.url],
    ['Platforms', enabled.length === 0 ? 'none' : enabled.join(', ')],
    ...(shown.problems === 0
      ? []
      : [['Problems', `${shown.problems}; \`hermes -p ${profile} config check\` lists them`] as const]),
    ...(facts.createdAt === '' ? [] : [['Created', facts.createdAt] as const]),
    ...(facts.clonedFrom === '' ? [] : [['Cloned from', facts.clonedFrom] as const]),
  ])
}

/** Throws `cli/usage` for `default` and for a name in use, `home/locked` while its gateway runs. */
export async function profileRename(context: CliContext, name: string, newName: string): Promise<void> {
  const { rootHome, output } = context
  assertNotDefault(name, 'renamed')
  const home = findProfile(rootHome, name)
  assertProfileName(newName)
  const target = profileHome(rootHome, newName)
  if (newName === defaultProfile || isTaken(target))
    throw new HermesError('cli/usage', `The profile ${newName} already exists (${target}).`)
  changeUnderLock(name, home, () => renameSync(home.root, target))
  if (readStickyProfile(rootHome) === name) writeStickyProfile(rootHome, newName)
  output.write(`The profile ${name} is now ${newName} (${target}). Its conversations go on.\n`)
}

/** Throws `cli/usage` for `default` and without a confirmation, `home/locked` while its gateway runs. */
export async function profileDelete(
  context: CliContext,
  name: string,
  { yes }: { readonly yes: boolean },
): Promise<void> {
  const { rootHome, output } = context
  assertNotDefault(name, 'deleted')
  const home = findProfile(rootHome, name)
  if (!yes && !(await confirmDeletion(context, name, home))) {
    throw new HermesError('cli/usage', `The profile ${name} was not deleted.`, {
      hint: `Type the name of the profile to confirm, or use --yes. \`hermes profile export ${name}\` saves it first.`,
    })
  }
  changeUnderLock(name, home, () => {
    // Renamed first, so that a failure in between leaves no half of a profile under its name.
    const doomed = join(dirname(home.root), `.deleted-${name}-${process.pid}`)
    renameSync(home.root, doomed)
    rmSync(doomed, { recursive: true, force: true })
  })
  if (readStickyProfile(rootHome) === name) writeStickyProfile(rootHome, defaultProfile)
  output.write(`The profile ${name} was deleted with its conversations and settings.\n`)
}

async function confirmDeletion({ input, errors }: CliContext, name: string, home: HomeLayout): Promise<boolean> {
  if (input.isTTY !== true) return false
  const prompt = createInterface({ input, output: errors, terminal: true })
  try {
    const question = `This deletes ${home.root} with all conversations. Type ${name} to confirm: `
    return (await prompt.question(question)).trim() === name
  } finally {
    prompt.close()
  }
}

function assertNotDefault(name: string, what: string): void {
  if (name === defaultProfile)
    throw new HermesError('cli/usage', `The profile default is the root home and cannot be ${what}.`)
}

/** No process may use the home meanwhile. */
function changeUnderLock(name: string, home: HomeLayout, change: () => void): void {
  const lock = lockProfile(name, home)
  try {
    change()
  } catch (error) {
    throw new HermesError('home/unusable', `${home.root}: ${messageOf(error)}`, { cause: error })
  } finally {
    lock.release()
  }
}

function lockProfile(name: string, home: HomeLayout) {
  try {
    return lockHome(home.lockFile)
  } catch (error) {
    if (!isHermesError(error, 'home/locked')) throw error
    const daemon = runningDaemonOf(home)
    const holder = daemon === undefined ? 'A process' : `Process ${daemon.pid}`
    throw new HermesError('home/locked', `${holder} uses the profile ${name} (${home.root}).`, {
      hint: `Stop it first: hermes -p ${name} gateway stop`,
      cause: error,
    })
  }
}

function writeStickyProfile(rootHome: string, name: string): void {
  const file = createHomeLayout(rootHome).activeProfileFile
  if (name === defaultProfile) {
    rmSync(file, { force: true })
    return
  }
  ensureDirectory(rootHome)
  writeFileAtomic(file, `${name}\n`)
}

/** The profile's own platforms instead of those of the selected one. */
function directoriesOf({ platformDirectories }: CliContext, home: HomeLayout): readonly string[] {
  const [bundled = ''] = platformDirectories
  return [bundled, home.platforms, join(home.plugins, 'platforms')]
}
