/**
 * The command line of `sandbox-exec` (macOS) for a view. The last rule of a profile that matches decides.
 */
import { directoriesAround, type SandboxView, type WrapOptions } from './sandbox.ts'

export function seatbeltCommand(
  view: SandboxView,
  network: SeatbeltNetwork & { readonly program: string },
  argv: readonly string[],
  { exposed = [] }: WrapOptions,
): readonly string[] {
  return [network.program, '-p', seatbeltProfile(view, network, exposed), ...argv]
}

export interface SeatbeltNetwork {
  readonly sharesNetwork: boolean
  /** A directory of Unix sockets that commands may connect to in any case. */
  readonly socketDirectory?: string | undefined
}

export function seatbeltProfile(
  view: SandboxView,
  { sharesNetwork, socketDirectory }: SeatbeltNetwork,
  exposed: readonly string[],
): string {
  const kinds = new Map<string, 'hidden' | 'readOnly' | 'writable'>()
  for (const kind of ['writable', 'readOnly', 'hidden'] as const) for (const path of view[kind]) kinds.set(path, kind)
  for (const path of exposed) kinds.set(path, 'readOnly')
  const paths = [...kinds].sort(([a], [b]) => a.length - b.length)
  const rules = {
    hidden: (path: string) => `(deny file-read* file-write* (subpath ${path}))`,
    readOnly: (path: string) => `(allow file-read* (subpath ${path}))(deny file-write* (subpath ${path}))`,
    writable: (path: string) => `(allow file-read* file-write* (subpath ${path}))`,
  }
  return [
    '(version 1)(allow default)',
    '(deny file-write*)(allow file-write* (subpath "/dev"))',
    '(deny signal)(allow signal (target same-sandbox))',
    '(deny process-info*)(allow process-info* (target same-sandbox))',
    '(deny mach-lookup (global-name "com.apple.SecurityServer") (global-name "com.apple.coreservices.launchservicesd"))',
    ...(sharesNetwork ? [] : ['(deny network*)(allow network* (local unix-socket))']),
    ...(sharesNetwork || socketDirectory === undefined
      ? []
      : [`(allow network-outbound (subpath ${JSON.stringify(socketDirectory)}))`]),
    ...paths.map(([path, kind]) => rules[kind](JSON.stringify(path))),
    ...[...directoriesAround(view)].map((path) => `(deny file-write-unlink (literal ${JSON.stringify(path)}))`),
  ].join('\n')
}
