import { replayContract } from '../../kit/replay.ts'
import { subject } from '../../replay/discord/subject.ts'

replayContract(subject)
