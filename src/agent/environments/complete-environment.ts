/**
 * Makes an environment of what a plugin gives: an environment without files, or a place that only runs short scripts.
 */
import { createPlaceGuard } from '../command-policy/file-guard.ts'
import type { Environment } from './environment.ts'
import { withFiles } from './remote/files-over-execute.ts'
import { createScriptEnvironment, type ScriptEnvironmentOptions } from './scripts/script-environment.ts'

type Incomplete = Omit<Environment, 'files'> & Partial<Pick<Environment, 'files'>>

/** @param home of the gateway: outside of a container, its rules for files hold */
export function completeEnvironment(made: Incomplete | ScriptEnvironmentOptions, home: string): Environment {
  if ('runScript' in made) {
    const denial = made.isContainer === false ? createPlaceGuard(home) : undefined
    return createScriptEnvironment(made, denial)
  }
  // It may be the object of a class, whose methods a spread does not copy.
  const { kind, cwd, files, isContainer } = made
  const { start, spawn, isSandboxed } = made
  const place = {
    kind,
    cwd,
    ...(isContainer === undefined ? {} : { isContainer }),
    execute: made.execute.bind(made),
    cleanup: made.cleanup.bind(made),
    ...(start && { start: start.bind(made) }),
    ...(spawn && { spawn: spawn.bind(made) }),
    ...(isSandboxed && { isSandboxed: isSandboxed.bind(made) }),
  }
  return files === undefined
    ? withFiles(place, isContainer === true ? undefined : createPlaceGuard(home))
    : { ...place, files }
}
