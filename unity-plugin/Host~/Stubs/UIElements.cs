using System;

namespace UnityEngine.UIElements
{
    public enum FlexDirection { Column, ColumnReverse, Row, RowReverse }
    public enum WhiteSpace { Normal, NoWrap }
    public enum DisplayStyle { Flex, None }
    public enum HelpBoxMessageType { None, Info, Warning, Error }

    public struct StyleLength
    {
        public static implicit operator StyleLength(float value) { return new StyleLength(); }
    }

    public struct StyleEnum<T> where T : struct, IConvertible
    {
        public static implicit operator StyleEnum<T>(T value) { return new StyleEnum<T>(); }
    }

    public interface IStyle
    {
        StyleLength paddingLeft { get; set; }
        StyleLength paddingRight { get; set; }
        StyleLength paddingTop { get; set; }
        StyleLength minWidth { get; set; }
        StyleLength fontSize { get; set; }
        StyleEnum<FlexDirection> flexDirection { get; set; }
        StyleEnum<WhiteSpace> whiteSpace { get; set; }
        StyleEnum<DisplayStyle> display { get; set; }
        StyleEnum<FontStyle> unityFontStyleAndWeight { get; set; }
    }

    public interface IVisualElementScheduledItem
    {
        IVisualElementScheduledItem Every(long intervalMs);
    }

    public interface IVisualElementScheduler
    {
        IVisualElementScheduledItem Execute(Action updateEvent);
    }

    public class VisualElement
    {
        public IStyle style { get { throw new NotSupportedException(); } }
        public IVisualElementScheduler schedule { get { throw new NotSupportedException(); } }
        public void Add(VisualElement child) { }
    }

    public class TextElement : VisualElement
    {
        public virtual string text { get; set; }
    }

    public class Label : TextElement
    {
        public Label() { }
        public Label(string text) { }
    }

    public class Button : TextElement
    {
        public Button(Action clickEvent) { }
    }

    public class HelpBox : VisualElement
    {
        public HelpBox(string text, HelpBoxMessageType messageType) { }
        public string text { get; set; }
    }

    public class ChangeEvent<T>
    {
        public T newValue { get { throw new NotSupportedException(); } }
    }

    public delegate void EventCallback<in T>(T change);

    public interface INotifyValueChanged<T>
    {
        T value { get; set; }
        void SetValueWithoutNotify(T newValue);
    }

    public static class INotifyValueChangedExtensions
    {
        public static bool RegisterValueChangedCallback<T>(this INotifyValueChanged<T> control, EventCallback<ChangeEvent<T>> callback)
        {
            throw new NotSupportedException();
        }
    }

    public class Toggle : VisualElement, INotifyValueChanged<bool>
    {
        public Toggle(string label) { }
        public bool value { get; set; }
        public void SetValueWithoutNotify(bool newValue) { }
    }

    public class TextField : VisualElement, INotifyValueChanged<string>
    {
        public TextField(string label) { }
        public string value { get; set; }
        public bool isDelayed { get; set; }
        public void SetValueWithoutNotify(string newValue) { }
    }
}
