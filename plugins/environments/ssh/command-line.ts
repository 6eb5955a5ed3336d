/**
 * The command lines of the system's `ssh`.
 *
 * Every value follows its option as an argument of its own or is validated (`target.ts`), and `--` ends the options. Options
 * on the command line take precedence over the ssh configuration of the user, which may name hosts, jump hosts and keys.
 */
import type { SshTarget } from './target.ts'

export interface SshLine {
  /** `ssh`, with options that precede all others. */
  readonly program: readonly string[]
  readonly target: SshTarget
  readonly socket: string
  /** Seconds without an answer of the host after which it is asked; the third time without an answer ends the connection. */
  readonly aliveSeconds: number
  readonly connectSeconds: number
}

/** Authenticates, and then serves the control socket in the background until it was idle for `idleSeconds`. */
export function masterLine(line: SshLine, idleSeconds: number): string[] {
  return [...optionsOf(line), '-N', '-M', '-o', `ControlPersist=${idleSeconds}`, '-T', '--', line.target.host]
}

/** Runs a command over the shared connection, or over one of its own where that has just ended. */
export function commandLine(line: SshLine, command: string): string[] {
  return [...optionsOf(line), '-o', 'ControlMaster=no', '-T', '--', line.target.host, command]
}

/** Ends the shared connection with everything that uses it. The name of the host is not used. */
export function exitLine({ program, socket }: Pick<SshLine, 'program' | 'socket'>): string[] {
  return [...program, '-F', 'none', '-S', tokenless(socket), '-O', 'exit', '--', 'host']
}

function optionsOf({ program, target, socket, aliveSeconds, connectSeconds }: SshLine): string[] {
  const { user, port, keyFile, hostKeys, knownHostsFile } = target
  const settings = [
    'BatchMode=yes',
    `StrictHostKeyChecking=${hostKeys === 'strict' ? 'yes' : 'accept-new'}`,
    `ConnectTimeout=${connectSeconds}`,
    `ServerAliveInterval=${aliveSeconds}`,
    'ServerAliveCountMax=3',
    'ClearAllForwardings=yes',
    'ForwardAgent=no',
    'ForwardX11=no',
    'PermitLocalCommand=no',
    'RemoteCommand=none',
    'EscapeChar=none',
    'LogLevel=ERROR',
    ...(knownHostsFile === undefined ? [] : [`UserKnownHostsFile="${tokenless(knownHostsFile)}"`]),
    // Otherwise keys of the agent are offered first, and a wrong key in the configuration goes unnoticed.
    ...(keyFile === undefined ? [] : ['IdentitiesOnly=yes']),
  ]
  return [
    ...program,
    ...settings.flatMap((setting) => ['-o', setting]),
    ...(port === undefined ? [] : ['-p', String(port)]),
    ...(user === undefined ? [] : ['-l', user]),
    ...(keyFile === undefined ? [] : ['-i', tokenless(keyFile)]),
    ...['-S', tokenless(socket)],
  ]
}

/** ssh expands `%h` and the like in file names. */
const tokenless = (path: string) => path.replaceAll('%', '%%')

/**
 * A command that runs `script` with sh, whatever the login shell of the account is. The shells differ in what quotes, `!`,
 * backslashes and newlines mean inside single quotes, so these are written as octal numbers. A bash that sshd seems to have
 * started would read ~/.bashrc for each shell below the login shell again; SHLVL says that it is not the first.
 */
export function portableCommand(script: string): string {
  const encoded = script.replace(/['\\!\n\r]/g, (character) => {
    return `\\0${character.charCodeAt(0).toString(8).padStart(3, '0')}`
  })
  return `exec sh -c 'export SHLVL=1; eval "$(printf %b "$0")"' '${encoded}'`
}
