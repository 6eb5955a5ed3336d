/**
 * Makes an environment of what a plugin gives: an environment that may have no files, a client program that reaches another
 * machine, or a service that only runs short scripts.
 */
import { createRemoteFileGuard } from '../command-policy/file-guard.ts'
import type { Environment } from './environment.ts'
import type { EnvironmentFactory } from './kind.ts'
import { withFiles } from './remote/files-over-execute.ts'
import { createRemoteEnvironment } from './remote-environment.ts'
import { createScriptEnvironment } from './scripts/script-environment.ts'

/** @param home of the gateway: outside of a container, its rules for files hold */
export function completeEnvironment(made: ReturnType<EnvironmentFactory>, home: string): Environment {
  const guard = (isGuarded: boolean) => (isGuarded ? createRemoteFileGuard(home) : undefined)
  if ('client' in made) return createRemoteEnvironment(made, guard(made.guardsFiles ?? made.isContainer !== true))
  if ('runScript' in made) return createScriptEnvironment(made, guard(made.isContainer === false))
  // It may be the object of a class, whose methods a spread does not copy.
  const { kind, cwd, files, isContainer } = made
  const { start, spawn, isSandboxed } = made
  const environment = {
    kind,
    cwd,
    isContainer,
    execute: made.execute.bind(made),
    cleanup: made.cleanup.bind(made),
    ...(start && { start: start.bind(made) }),
    ...(spawn && { spawn: spawn.bind(made) }),
    ...(isSandboxed && { isSandboxed: isSandboxed.bind(made) }),
  }
  return files === undefined ? withFiles(environment, guard(isContainer !== true)) : { ...environment, files }
}
