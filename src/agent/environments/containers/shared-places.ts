/**
 * The places of a kind of container: with `container_persistent` one for all conversations of the home, otherwise one for each.
 */
import type { EnvironmentKind, EnvironmentRequest } from '../kind.ts'
import type { RemoteClient } from '../remote-client.ts'
import { createRemoteEnvironment } from '../remote-environment.ts'
import { type SharedClient, shareClient } from '../shared-client.ts'
import { commandVariables, conversationKey, sharedKey } from './command-variables.ts'
import type { ContainerSettings } from './docker-arguments.ts'
import { type ExposedFiles, withExposedFiles } from './exposed-files.ts'

/** What the places of every kind depend on. */
type PlaceSettings = Pick<ContainerSettings, 'container_persistent' | 'docker_forward_env'>

type PlaceRequest<Settings> = Omit<EnvironmentRequest<Settings>, 'sessionId'>

/** The container of one key, which may not have been started yet. */
interface Place<Settings> {
  readonly client: SharedClient
  readonly files: ExposedFiles
  /** Of the environment that was created or started last: its settings count for the next start. */
  request: PlaceRequest<Settings>
}

export interface SharedPlacesOptions<Settings> {
  /** Creates the client of a place. `request` returns the latest request. */
  open(
    key: string,
    request: () => PlaceRequest<Settings>,
  ): { readonly client: RemoteClient; readonly files: ExposedFiles }
  /** The directory in which commands begin. */
  workingDirectory(request: PlaceRequest<Settings>): string
  /** Whether commands there reach no folder of this machine. */
  isContainer(settings: Settings): boolean
}

/** Of an idle place; undefined: until the last conversation has ended. */
export function lifetimeMsOf({ lifetime_seconds: seconds }: Pick<ContainerSettings, 'lifetime_seconds'>) {
  return seconds === 0 ? undefined : seconds * 1_000
}

export function createSharedPlaces<Settings extends PlaceSettings>({
  open,
  workingDirectory,
  isContainer,
}: SharedPlacesOptions<Settings>): EnvironmentKind<Settings>['create'] {
  const places = new Map<string, Place<Settings>>()

  function createPlace(key: string, request: PlaceRequest<Settings>): Place<Settings> {
    let current: Place<Settings> | undefined
    const { client, files } = open(key, () => current?.request ?? request)
    const shared = shareClient(client, () => {
      if (key !== sharedKey) places.delete(key)
    })
    current = { client: shared, files, request }
    return current
  }

  return (request) => {
    const { settings, sessionId } = request
    const key = settings.container_persistent ? sharedKey : conversationKey(sessionId)
    const place = places.get(key) ?? createPlace(key, request)
    places.set(key, place)
    const client = place.client.join(() => {
      place.request = request
    })
    const environment = createRemoteEnvironment(client, {
      cwd: workingDirectory(request),
      variables: commandVariables(request),
      isContainer: isContainer(settings),
    })
    return withExposedFiles(environment, place.files)
  }
}
