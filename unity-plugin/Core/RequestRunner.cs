using System;
using System.Collections.Generic;

namespace UnityMcp
{
    /// <summary>Answers the requests of the server, one at a time. Main thread only.</summary>
    public sealed class RequestRunner
    {
        readonly IList<Tool> tools;
        readonly JobBook jobs;
        readonly RequestBook book;
        readonly ICallObserver observer;
        readonly Func<Job, string> cancel;

        /// <param name="cancel">Returns the status for cancel_result.</param>
        public RequestRunner(IList<Tool> tools, JobBook jobs, RequestBook book, ICallObserver observer, Func<Job, string> cancel)
        {
            this.tools = tools;
            this.jobs = jobs;
            this.book = book;
            this.observer = observer;
            this.cancel = cancel;
        }

        public Json Answer(ServerMessage request, int maxMessageBytes)
        {
            try
            {
                if (request.Type == "get_job_status") return jobs.Status(request.RequestId, request.JobId, maxMessageBytes);
                if (request.Type == "cancel") return Cancel(request);
                return Run(request, maxMessageBytes);
            }
            catch (RejectedException rejection)
            {
                return Wire.Error(request.RequestId, rejection.Code, rejection.Message);
            }
            catch (Exception failure)
            {
                // Without an answer the inbox would wait for ever. Nobody knows what has happened up to here.
                var text = "The plugin failed: " + FrameRoom.Cut(failure.Message, Limits.ErrorCharsMax);
                return Wire.Error(request.RequestId, Wire.InvalidResponse, text);
            }
        }

        Json Cancel(ServerMessage request)
        {
            var job = jobs.Find(request.TargetJobId) ?? jobs.SubmittedBy(request.TargetRequestId);
            if (job == null) return Wire.Error(request.RequestId, Wire.JobNotFound, "This Editor does not know the job.");
            return Wire.CancelResult(request.RequestId, cancel(job));
        }

        Json Run(ServerMessage request, int maxMessageBytes)
        {
            var tool = FindTool(request);
            var known = request.IsDeduplicated ? book.AnswerTo(request) : null;
            if (known != null)
            {
                jobs.Repeat(known.Text("job_id"), request.RequestId);
                return known;
            }
            var run = tool.Prepare(new ToolCall
            {
                RequestId = request.RequestId,
                Params = request.Params,
                MaxMessageBytes = maxMessageBytes,
                ArrivedAt = request.ArrivedAt
            });
            var begun = request.IsDeduplicated ? book.Begin(request) : null;
            var answer = Try(request, run);
            if (begun != null) book.End(begun, answer);
            return answer;
        }

        Tool FindTool(ServerMessage request)
        {
            foreach (var tool in tools)
                if (tool.Name == request.ToolName && tool.MessageType == request.Type) return tool;
            throw RejectedException.UnknownTool(request.ToolName);
        }

        Json Try(ServerMessage request, Func<Json> run)
        {
            try
            {
                observer.Running(request.RequestId, request.ClientRequestId, request.ToolName);
                return run();
            }
            catch (FailedException failure)
            {
                return Failed(request, failure.Message, null);
            }
            catch (Exception failure)
            {
                // Whatever a tool throws is its result. The plugin goes on.
                return Failed(request, failure.Message, FrameRoom.Cut(failure.ToString(), Limits.ErrorDetailsCharsMax));
            }
        }

        static Json Failed(ServerMessage request, string message, string details)
        {
            var text = FrameRoom.Cut(message, Limits.ErrorCharsMax);
            if (request.Type == "submit_job") return Wire.Error(request.RequestId, Wire.UnityExecution, text);
            return Wire.FailedResult(request.RequestId, text, details);
        }
    }
}
