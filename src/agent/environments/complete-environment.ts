/**
 * Makes an environment of what a plugin gives: an environment without files, or a place that only runs short scripts.
 */
import type { Environment } from './environment.ts'
import { withFiles } from './remote/files-over-execute.ts'
import { createScriptEnvironment, type ScriptEnvironmentOptions } from './scripts/script-environment.ts'

type Incomplete = Omit<Environment, 'files'> & Partial<Pick<Environment, 'files'>>

export function completeEnvironment(made: Incomplete | ScriptEnvironmentOptions): Environment {
  if ('runScript' in made) return createScriptEnvironment(made)
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
  return files === undefined ? withFiles(place) : { ...place, files }
}
