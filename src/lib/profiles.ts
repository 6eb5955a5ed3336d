/**
 * Profiles: separate homes below one root home (seed 004). The profile `default` is the root home itself; every other one has
 * its whole tree in `<root home>/profiles/<name>`.
 */
import { existsSync, lstatSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

export const defaultProfile = 'default'

const profilesDirectoryName = 'profiles'
/** Written by `hermes profile create` into the home of a profile (`HomeLayout.profileFile`). */
const profileFileName = 'profile.json'

/** Names that mean something else where a profile is named. */
const reservedNames = ['all', 'none']

const namePattern = /^[a-z0-9][a-z0-9_-]{0,63}$/

/** What is wrong with the name of a profile, as the end of a sentence; undefined for a valid name, also for `default`. */
export function findProfileNameProblem(name: string): string | undefined {
  if (reservedNames.includes(name)) return 'this name is reserved'
  if (namePattern.test(name)) return undefined
  return 'expected 1 to 64 lower-case letters, digits, - and _, beginning with a letter or a digit'
}

/** Returns the name as Hermes reads it: people type it with capital letters and blanks. The result may be invalid. */
export function normalizeProfileName(text: string): string {
  return text.trim().toLowerCase()
}

/** @param name a valid name */
export function profileHome(rootHome: string, name: string): string {
  return name === defaultProfile ? rootHome : join(rootHome, profilesDirectoryName, name)
}

/** Whether a profile has this home. A link is no home of a profile: a command could change what lies elsewhere. */
export function isProfileHome(home: string): boolean {
  return lstatSync(home, { throwIfNoEntry: false })?.isDirectory() === true
}

export interface ProfileLocation {
  readonly rootHome: string
  readonly profile: string
}

/**
 * Which profile a home directory is. A directory below `profiles` is one if `hermes profile create` made it, or if it is in
 * a `.hermes`; any other directory is a root home.
 * @param home absolute
 */
export function locateProfile(home: string): ProfileLocation {
  const parent = dirname(home)
  const rootHome = dirname(parent)
  const isProfile =
    basename(parent) === profilesDirectoryName &&
    findProfileNameProblem(basename(home)) === undefined &&
    (basename(rootHome) === '.hermes' || existsSync(join(home, profileFileName)))
  return isProfile ? { rootHome, profile: basename(home) } : { rootHome: home, profile: defaultProfile }
}
