/** The types of `runtime-setup.mjs`. */
export interface RuntimeSetup {
  /** The program and its arguments, with which it starts again in the same process. */
  readonly restartWith?: string[]
  /** For that start. */
  readonly environment: Record<string, string>
  readonly compileCache?: string
}

export function runtimeSetup(
  process: Pick<NodeJS.Process, 'argv' | 'execArgv' | 'execPath' | 'env'>,
  installationCache: string,
): RuntimeSetup
