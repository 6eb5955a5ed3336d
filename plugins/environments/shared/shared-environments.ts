/**
 * The environments of a kind of container: with `container_persistent` one container for all conversations of the home,
 * otherwise one for each.
 */
import type { EnvironmentFactory, RemoteClient } from '#sdk'
import { commandVariables, conversationKey, sharedKey } from './command-variables.ts'
import type { ExposedFiles } from './exposed-files.ts'
import type { ContainerSettings, SettingsRequest } from './settings.ts'
import { type SharedClient, shareClient } from './shared-client.ts'

/** The container of one key, which may not have been started yet. */
interface Container<Settings> {
  readonly client: SharedClient
  readonly files: ExposedFiles
  /** The request of the environment that was created or started last: its settings count for the next start. */
  request: SettingsRequest<Settings>
}

export interface SharedEnvironmentsOptions<Settings> {
  /** Creates the client of a container. `request` returns the latest request. */
  open(
    key: string,
    request: () => SettingsRequest<Settings>,
  ): { readonly client: RemoteClient; readonly files: ExposedFiles }
  /** The directory in which commands begin. */
  workingDirectory(request: SettingsRequest<Settings>): string
  /** Whether commands there reach no folder of this machine. */
  isContainer(settings: Settings): boolean
}

export function createSharedEnvironments<Settings extends ContainerSettings>({
  open,
  workingDirectory,
  isContainer,
}: SharedEnvironmentsOptions<Settings>): EnvironmentFactory<Settings> {
  const containers = new Map<string, Container<Settings>>()

  function createContainer(key: string, request: SettingsRequest<Settings>): Container<Settings> {
    let current: Container<Settings> | undefined
    const { client, files } = open(key, () => current?.request ?? request)
    const shared = shareClient(client, () => {
      if (key !== sharedKey) containers.delete(key)
    })
    current = { client: shared, files, request }
    return current
  }

  return (request) => {
    const { settings, sessionId } = request
    const key = settings.container_persistent ? sharedKey : conversationKey(sessionId)
    const container = containers.get(key) ?? createContainer(key, request)
    containers.set(key, container)
    return {
      client: container.client.join(() => {
        container.request = request
      }),
      cwd: workingDirectory(request),
      variables: commandVariables(request),
      isContainer: isContainer(settings),
      // Its files are no keys of this machine, whatever folders it sees.
      guardsFiles: false,
      expose: container.files.expose,
    }
  }
}
