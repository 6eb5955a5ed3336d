/**
 * Runs a client program of this machine, such as docker, for one question or one order. The commands of the agent do not run
 * here: see `RemoteClient`.
 */
import { execFile } from 'node:child_process'
import type { Logger } from '#sdk'

export interface ClientProgram {
  /** The path of the program. */
  readonly path: string
  /** Its whole environment. */
  readonly env: Readonly<Record<string, string>>
}

export interface ClientResult {
  /** Null when the program did not start, was killed, or took too long. */
  readonly exitCode: number | null
  readonly stdout: string
  /** With the reason of the system when the program did not start. */
  readonly stderr: string
  readonly timedOut: boolean
}

export interface ClientRunOptions {
  readonly signal: AbortSignal
  readonly timeoutMs: number
  /** Receives what the program writes, to show its progress. */
  onOutput?(text: string): void
}

/** An inspection of some hundred containers fits. */
const maxOutputBytes = 16 * 1_048_576

/** Rejects only with the reason of the signal. */
export async function runClient(
  { path, env }: ClientProgram,
  args: readonly string[],
  { signal, timeoutMs, onOutput }: ClientRunOptions,
): Promise<ClientResult> {
  signal.throwIfAborted()
  const result = await new Promise<ClientResult>((resolve) => {
    const options = {
      env: { ...env },
      timeout: timeoutMs,
      signal,
      maxBuffer: maxOutputBytes,
      killSignal: 'SIGKILL',
    } as const
    const child = execFile(path, [...args], options, (error, stdout, stderr) => {
      const exitCode = error === null ? 0 : typeof error.code === 'number' ? error.code : null
      const reason = exitCode === null && stderr === '' ? (error?.message ?? '') : ''
      resolve({ exitCode, stdout, stderr: stderr + reason, timedOut: error?.killed === true && exitCode === null })
    })
    if (onOutput !== undefined) for (const stream of [child.stdout, child.stderr]) stream?.on('data', onOutput)
  })
  signal.throwIfAborted()
  return result
}

/** The last lines of what a program wrote about its failure, as one line. */
export function reasonOf({ stderr, timedOut }: Pick<ClientResult, 'stderr' | 'timedOut'>): string {
  if (timedOut) return 'It did not answer in time.'
  const lines = stderr.split('\n').map((line) => line.trim())
  return lines
    .filter((line) => line !== '')
    .slice(-4)
    .join(' ')
    .slice(-600)
}

/** What the programs of containers need of this machine: how to reach their engine, their registries and their folders. */
export const clientNames: readonly string[] = [
  ...[
    'XDG_RUNTIME_DIR',
    'XDG_CONFIG_HOME',
    'XDG_DATA_HOME',
    'XDG_CACHE_HOME',
    'SSH_AUTH_SOCK',
    'DBUS_SESSION_BUS_ADDRESS',
  ],
  ...[
    'HTTP_PROXY',
    'HTTPS_PROXY',
    'NO_PROXY',
    'http_proxy',
    'https_proxy',
    'no_proxy',
    'SSL_CERT_FILE',
    'SSL_CERT_DIR',
  ],
  ...['DOCKER_HOST', 'DOCKER_CONTEXT', 'DOCKER_CONFIG', 'DOCKER_CERT_PATH', 'DOCKER_TLS', 'DOCKER_TLS_VERIFY'],
  ...['DOCKER_API_VERSION', 'DOCKER_DEFAULT_PLATFORM', 'DOCKER_CONTENT_TRUST'],
  ...['CONTAINER_HOST', 'CONTAINER_SSHKEY', 'CONTAINERS_CONF', 'CONTAINERS_CONF_OVERRIDE', 'CONTAINERS_STORAGE_CONF'],
  ...['CONTAINERS_REGISTRIES_CONF', 'REGISTRY_AUTH_FILE', 'STORAGE_DRIVER', 'STORAGE_OPTS', 'BUILDAH_ISOLATION'],
  ...[
    'APPTAINER_CACHEDIR',
    'APPTAINER_TMPDIR',
    'APPTAINER_CONFIGDIR',
    'APPTAINER_DOCKER_USERNAME',
    'APPTAINER_DOCKER_PASSWORD',
  ],
  ...['SINGULARITY_CACHEDIR', 'SINGULARITY_TMPDIR', 'SINGULARITY_CONFIGDIR', 'SINGULARITY_DOCKER_USERNAME'],
  'SINGULARITY_DOCKER_PASSWORD',
]

const ownVariables = new Set([...clientNames, 'PATH', 'HOME', 'USER', 'LANG', 'TERM', 'TZ', 'TMPDIR', 'SHELL', 'PWD'])

/** Whether the variable means something to the client program itself, so that it cannot carry a value for a container. */
export function isClientVariable(name: string): boolean {
  return ownVariables.has(name) || /^(?:LC_|DOCKER_|CONTAINERS?_|APPTAINER|SINGULARITY)/.test(name)
}

/** How an image is fetched. */
export interface PullOptions {
  readonly signal: AbortSignal
  announce(text: string): void
  readonly log: Logger
  readonly now?: () => number
}
