/**
 * Loads Modal's SDK, which is not a dependency of the gateway: it takes 24 MB on the disk and 40 MB of memory. The version
 * that npm calls the latest is another package, a dialog for browsers.
 */
import { HermesError, isRecord, messageOf } from '#sdk'

const version = '0.11.1'
const install = `In the gateway's folder, run: npm install modal@${version}`

/** The part of the SDK that the plugin uses. */
export interface ModalClient {
  readonly apps: { fromName(name: string, options: { readonly createIfMissing: boolean }): Promise<object> }
  readonly images: { fromRegistry(name: string): object; fromId(id: string): Promise<object> }
  readonly sandboxes: {
    create(app: object, image: object, options: SandboxCreation): Promise<ModalSandbox>
    /** Rejects if no sandbox of this name runs. */
    fromName(app: string, name: string): Promise<ModalSandbox>
  }
}

export interface SandboxCreation {
  readonly name: string
  readonly tags: Readonly<Record<string, string>>
  readonly cpu?: number
  readonly memoryMiB?: number
  readonly timeoutMs: number
  readonly idleTimeoutMs: number
}

export interface ModalSandbox {
  exec(command: string[], options: { readonly timeoutMs: number }): Promise<ModalProcess>
  /** An image of its files. */
  snapshotFilesystem(): Promise<{ readonly imageId: string }>
  terminate(): Promise<void>
}

export interface ModalProcess {
  readonly stdout: { readText(): Promise<string> }
  wait(): Promise<number>
}

export interface ModalKeys {
  readonly tokenId: string
  readonly tokenSecret: string
}

/** Rejects with `HermesError` `environment/no-client` if the package is missing or another one. */
export async function loadModal(
  keys: ModalKeys,
  load: (name: string) => Promise<unknown> = (name) => import(name),
): Promise<ModalClient> {
  let loaded: unknown
  try {
    loaded = await load('modal')
  } catch (error) {
    throw new HermesError('environment/no-client', `The package modal cannot be loaded: ${messageOf(error)}`, {
      cause: error,
      hint: install,
    })
  }
  const Client: unknown = isRecord(loaded) ? loaded['ModalClient'] : undefined
  const client: unknown = typeof Client === 'function' ? Reflect.construct(Client, [keys]) : undefined
  if (isClient(client)) return client
  throw new HermesError('environment/no-client', 'The package modal that is installed is not the SDK of Modal.', {
    hint: install,
  })
}

function isClient(value: unknown): value is ModalClient {
  return isRecord(value) && [value['apps'], value['images'], value['sandboxes']].every((part) => isRecord(part))
}
