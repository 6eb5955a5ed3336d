/**
 * `profile.json` in the home of a profile: where the profile comes from, and the name in its session keys.
 */
import { HermesError } from './errors.ts'
import { readTextIfExists, writeFileAtomic } from './files.ts'
import type { HomeLayout } from './home.ts'
import { asRecord, asString } from './json.ts'
import { defaultProfile, locateProfile } from './profiles.ts'

export interface ProfileFacts {
  /** ISO 8601; '' when `hermes profile create` did not make the profile. */
  readonly createdAt: string
  /** The profile whose files were copied; '' for none. */
  readonly clonedFrom: string
  /** The name in the session keys. It stays when the profile is renamed, so that conversations go on. */
  readonly sessionNamespace: string
}

type ProfileHome = Pick<HomeLayout, 'root' | 'profileFile'>

/** The defaults where the file says nothing. Throws `home/unusable`. */
export function readProfileFacts({ root, profileFile: file }: ProfileHome): ProfileFacts {
  const { profile } = locateProfile(root)
  const text = profile === defaultProfile ? undefined : readTextIfExists(file, 65_536)
  const values = asRecord(text === undefined ? {} : parse(text, file))
  return {
    createdAt: asString(values['created_at']),
    clonedFrom: asString(values['cloned_from']),
    sessionNamespace: asString(values['session_namespace']) || profile,
  }
}

export function writeProfileFacts({ profileFile }: ProfileHome, facts: ProfileFacts): void {
  const content = {
    created_at: facts.createdAt,
    cloned_from: facts.clonedFrom,
    session_namespace: facts.sessionNamespace,
  }
  writeFileAtomic(profileFile, `${JSON.stringify(content, null, 2)}\n`)
}

function parse(text: string, file: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new HermesError('home/unusable', `${file}: it is not valid JSON.`, {
      hint: 'Correct the file, or delete it: the profile then has the session keys of its name.',
      cause,
    })
  }
}
