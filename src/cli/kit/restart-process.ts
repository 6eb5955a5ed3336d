/**
 * Starts the program again in the same process (execve): its process id stays, so that a service manager, npm and a container
 * with this program as process 1 notice nothing.
 */
import { exitCodes } from '../../lib/exit-codes.ts'

type RestartableProcess = Pick<NodeJS.Process, 'execPath' | 'execArgv' | 'argv' | 'env'> & {
  readonly execve?: (file: string, args: readonly string[], environment: NodeJS.ProcessEnv) => void
}

/**
 * Does not return where the system can do it. Otherwise returns the exit code that asks the service manager for a start, and
 * why.
 */
export function restartProcess(program: RestartableProcess): { readonly exitCode: number; readonly reason: string } {
  const { execPath, execArgv, argv, env } = program
  const exitCode = exitCodes.temporary
  if (program.execve === undefined) return { exitCode, reason: 'this system cannot replace a process' }
  try {
    program.execve(execPath, [execPath, ...execArgv, ...argv.slice(1)], env)
  } catch (error) {
    return { exitCode, reason: error instanceof Error ? error.message : String(error) }
  }
  return { exitCode, reason: 'the process was not replaced' }
}
