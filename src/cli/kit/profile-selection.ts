/**
 * Selects the profile of a command: `--profile`, then HERMES_PROFILE, then a HERMES_HOME that is a profile, then the profile
 * that `hermes profile use` has set.
 */
import { homeDirectory, type ProcessEnvironment, processEnvironment } from '../../config/environment.ts'
import { HermesError, messageOf, systemCode } from '../../lib/errors.ts'
import { readTextIfExists } from '../../lib/files.ts'
import { createHomeLayout } from '../../lib/home.ts'
import {
  defaultProfile,
  findProfileNameProblem,
  isProfileHome,
  locateProfile,
  normalizeProfileName,
  profileHome,
} from '../../lib/profiles.ts'

export interface SelectedProfile {
  /** The home of `default`, below which the others are. */
  readonly rootHome: string
  readonly profile: string
  /** The home of the profile. */
  readonly home: string
}

export interface ProfileOption {
  /** The arguments without the option. */
  readonly words: readonly string[]
  readonly profile: string | undefined
}

/**
 * Takes `-p <name>` and `--profile <name>` out of the arguments before the command. What follows the command is its own: it may
 * be a word of a message.
 * Throws `cli/usage` when the name is missing, or when two different names are given.
 */
export function takeProfileOption(args: readonly string[]): ProfileOption {
  const words: string[] = []
  const names: string[] = []
  let index = 0
  for (; index < args.length; index++) {
    const word = args[index] ?? ''
    if (word === '--' || !word.startsWith('-')) break
    const inline = /^(?:--profile=|-p=?(?=.))(.*)$/s.exec(word)?.[1]
    if (inline !== undefined) names.push(inline)
    else if (word === '-p' || word === '--profile') {
      index += 1
      names.push(args[index] ?? '')
    } else words.push(word)
  }
  words.push(...args.slice(index))
  if (names.some((name) => name === '' || name.startsWith('-')))
    throw new HermesError('cli/usage', '--profile: expected the name of a profile.')
  const [profile, ...others] = new Set(names.map(normalizeProfileName))
  if (others.length > 0)
    throw new HermesError('cli/usage', `--profile: expected one profile, found ${names.join(' and ')}.`)
  return { words, profile }
}

/**
 * `profile` commands and help also work when the selected profile does not exist: they are how it is created or selected.
 * Throws `cli/usage` for an invalid name, `cli/not-found` for a profile that does not exist.
 */
export function selectProfile(
  { words, profile: option }: ProfileOption,
  environment: ProcessEnvironment = processEnvironment(),
): SelectedProfile {
  const { rootHome, profile: located } = locateProfile(homeDirectory(environment))
  const named = option ?? nonEmpty(normalizeProfileName(environment['HERMES_PROFILE'] ?? ''))
  const profile = named ?? (located === defaultProfile ? readStickyProfile(rootHome) : located)
  assertProfileName(profile)
  const home = profileHome(rootHome, profile)
  if (profile === defaultProfile || isProfileHome(home)) return { rootHome, profile, home }
  if (option === undefined && worksWithoutProfile(words)) return { rootHome, profile: defaultProfile, home: rootHome }
  throw profileNotFound(profile, rootHome)
}

function worksWithoutProfile(words: readonly string[]): boolean {
  const [first = 'help'] = words
  return ['profile', 'help'].includes(first) || words.some((word) => word === '--help' || word === '-h')
}

/** Throws `cli/usage`. */
export function assertProfileName(name: string): void {
  const problem = findProfileNameProblem(name)
  if (problem !== undefined) throw new HermesError('cli/usage', `Profile ${JSON.stringify(name)}: ${problem}.`)
}

export function profileNotFound(name: string, rootHome: string): HermesError {
  return new HermesError('cli/not-found', `There is no profile ${name} in ${rootHome}.`, {
    hint: `\`hermes profile list\` shows the profiles, \`hermes profile create ${name}\` creates it, and \`hermes profile use default\` selects the default one again.`,
  })
}

/** The profile of commands without `--profile`; `default` without a file, and for a file that names no profile. */
export function readStickyProfile(rootHome: string): string {
  const name = readStickyFile(rootHome)?.trim() ?? ''
  return name === '' ? defaultProfile : name
}

function readStickyFile(rootHome: string): string | undefined {
  try {
    return readTextIfExists(createHomeLayout(rootHome).activeProfileFile, 1_024)
  } catch (error) {
    // The root home is not a directory: the command reports it.
    if (systemCode(error) === 'ENOTDIR') return undefined
    throw new HermesError('home/unusable', `${rootHome}: ${messageOf(error)}`, { cause: error })
  }
}

function nonEmpty(text: string): string | undefined {
  return text === '' ? undefined : text
}
