/**
 * Which conversations a person may see, in SQL. The threads that read for a person share it.
 */

/** `:user` is null outside of direct messages, and equals nothing. */
export const visibleKeys = `select session_key from lanes where session_key = :key or (
  json_extract(source, '$.platform') = :platform and json_extract(source, '$.account') = :account
  and json_extract(source, '$.chatType') = 'dm' and json_extract(source, '$.userId') = :user)`
