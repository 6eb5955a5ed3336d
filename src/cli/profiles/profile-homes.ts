/**
 * The homes of the profiles on disk: which exist, which are in use, and what their `profile.json` says.
 */
import { existsSync, lstatSync, readdirSync } from 'node:fs'
import { HermesError, messageOf } from '../../lib/errors.ts'
import { createHomeLayout, type HomeLayout } from '../../lib/home.ts'
import { defaultProfile, findProfileNameProblem, isProfileHome, profileHome } from '../../lib/profiles.ts'
import { isProcessAlive, readPidFile } from '../kit/daemon.ts'
import { assertProfileName, profileNotFound } from '../kit/profile-selection.ts'

/** The names of all profiles, `default` first. Throws `home/unusable`. */
export function listProfileNames(rootHome: string): string[] {
  const directory = createHomeLayout(rootHome).profiles
  try {
    if (!existsSync(directory)) return [defaultProfile]
    const names = readdirSync(directory).filter(
      (name) =>
        name !== defaultProfile &&
        findProfileNameProblem(name) === undefined &&
        isProfileHome(profileHome(rootHome, name)),
    )
    return [defaultProfile, ...names.sort()]
  } catch (error) {
    throw new HermesError('home/unusable', `${directory}: ${messageOf(error)}`, { cause: error })
  }
}

/** Throws `cli/usage` for an invalid name, `cli/not-found` for a profile that does not exist. */
export function findProfile(rootHome: string, name: string): HomeLayout {
  assertProfileName(name)
  if (!listProfileNames(rootHome).includes(name)) throw profileNotFound(name, rootHome)
  return createHomeLayout(profileHome(rootHome, name))
}

/** Whether something has this path, also a link to nothing. */
export function isTaken(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined
}

/** The process that the pid file of the home names, if it exists. */
export function runningDaemonOf(home: HomeLayout): { readonly pid: number; readonly url: string } | undefined {
  const pidFile = readPidFile(home)
  return pidFile !== undefined && isProcessAlive(pidFile.pid) ? pidFile : undefined
}
