/**
 * What containers depend on of the machine that the gateway runs on.
 */
import { homedir, userInfo } from 'node:os'

export interface Machine {
  readonly platform: NodeJS.Platform
  /** The home directory of the user. */
  readonly userHome: string
  readonly userName: string
  /** Undefined where users have no numbers. */
  readonly user: { readonly uid: number; readonly gid: number } | undefined
}

export function thisMachine(): Machine {
  const { getuid, getgid } = process
  const user = getuid === undefined || getgid === undefined ? undefined : { uid: getuid(), gid: getgid() }
  return { platform: process.platform, userHome: homedir(), userName: findUserName() ?? String(user?.uid ?? ''), user }
}

/** Undefined for a user who has a number alone, as in some containers. */
function findUserName(): string | undefined {
  try {
    return userInfo().username
  } catch {
    // The system has no entry for the number.
    return undefined
  }
}
